# SPDX-License-Identifier: Apache-2.0
"""What belongs to the application stays its own: standard output, the end, its signals; and egpu's own lines may be lost."""
import os
import shutil
import subprocess
import tempfile

from harness import EGPU, WORKLOAD, case, check, equal, finish

FOLDER = tempfile.mkdtemp()


def shell(text, **options):
    return subprocess.run(["bash", "-c", text], capture_output=True, timeout=120,
                          env=dict(os.environ, EGPU=EGPU, WORKLOAD=WORKLOAD, FOLDER=FOLDER), **options)


@case("nobody reads egpu's lines any more: the program runs, with its exit code")
def closed_pipe():
    done = shell("$EGPU run -p bandwidth -- bash -c 'echo app ran; exit 5' 2> >(exec true); echo code $?")
    equal(done.stdout.decode(), "app ran\ncode 5\n", "output")
    done = shell("$EGPU run -p bandwidth --summary $FOLDER/pipe.json -- bash -c 'sleep 0.3; $WORKLOAD gather --elements 1024; exit 5'"
                 " 2> >(head -1 >/dev/null); echo code $?")
    check(done.stdout.decode().endswith("code 5\n"), done.stdout.decode())
    check(os.path.getsize(os.path.join(FOLDER, "pipe.json")) > 100, "the summary was written")


@case("signals are as they were for the program")
def inherited_signals():
    show = "python3 -c \"import signal; print([signal.getsignal(s) for s in (signal.SIGXFSZ, signal.SIGPIPE)])\""
    status = "grep SigIgn /proc/self/status"
    for way in (status, f"trap '' PIPE; {status}"):
        plain, observed = shell(way), shell(way.replace("grep", "$EGPU run -q -p bandwidth -- grep"))
        equal(observed.stdout, plain.stdout, f"ignored signals: {show}")


@case("a recording never goes where the program's output goes, nor where the summary goes")
def own_files():
    done = shell("cd $FOLDER && $EGPU run -p bandwidth --record out.egpu -- echo app >out.egpu; echo code $?; cat out.egpu")
    check(b"code 125" in done.stdout and b"EGPU-R002" in done.stderr, done.stderr.decode())
    done = shell("cd $FOLDER && $EGPU run -p bandwidth --record same --summary same -- echo app; echo code $?")
    equal(done.stdout.decode(), "code 2\n", "a slip is said before the program starts")


@case("links to recordings are followed, pipes are refused at once")
def odd_files():
    done = shell("cd $FOLDER && $EGPU run -q -p bandwidth --record target.egpu -- $WORKLOAD gather --elements 1024 && ln -sf target.egpu link.egpu"
                 " && $EGPU run -q -p bandwidth --record link.egpu -- $WORKLOAD gather --elements 1024 && test -L link.egpu && echo link")
    check(done.stdout.decode().endswith("link\n"), done.stdout.decode() + done.stderr.decode())
    done = shell("cd $FOLDER && mkfifo pipe && timeout 10 $EGPU session info pipe; echo code $?")
    equal(done.stdout.decode(), "code 3\n", done.stderr.decode())


@case("a limit on the size of files is an error, not the end of egpu")
def file_limit():
    done = shell("ulimit -f 40; $EGPU run -p bandwidth -- echo app; echo code $?")
    equal(done.stdout.decode(), "code 125\n", done.stderr.decode())
    check(b"egpu: error" in done.stderr, done.stderr.decode())


shutil.rmtree(FOLDER)
finish()
