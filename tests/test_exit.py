"""The process ends cleanly whatever is alive; importing touches no GPU."""

from __future__ import annotations

import pytest

from children import HEAD, run_script

# llvmpipe takes nothing from its cache of other runs: it is still compiling when the process ends.
COMPILES = {"MESA_SHADER_CACHE_DISABLE": "true"}

ENDINGS = {
    "live tensors": "y = x + 1; y.eval(); z = y.reshape(10, 100).T",
    "pending tensors": "y = x + 1; z = [(y * i).sum() for i in range(50)]",
    "pending in a global cycle": """
class Node: pass
n = Node(); n.self = n; n.value = x * 2; n.view = (x + 1)[::2]
""",
    "live views": """
large = (wt.ones((400, 400)) + 1).numpy(); part = large[::3]; small = x.numpy()
""",
    "views read at exit": """
large = (wt.ones((400, 400)) + 1).numpy()
atexit.register(lambda: print(large.sum() == 320000))
""",
    "computing at exit": """
@atexit.register
def last():
    assert (x[:3] + 1).tolist() == [1, 2, 3]
""",
    "a destructor that computes": """
class Holder:
    def __init__(self): self.t = x * 2
    def __del__(self): self.t.eval()
holder = Holder()
""",
    "a destructor that reads": """
class Reader:
    def __init__(self): self.t = x * 2
    def __del__(self):
        read = self.t[:2].tolist(), float(self.t.sum()), self.t.numpy().shape, self.t[3].item()
        os.write(1, b"fine" if read == ([0, 2], 999000, (1000,), 6) else b"wrong")
reader = Reader()
""",
    "several devices": """
devices = [wt.Device() for _ in range(3)]
tensors = [wt.ones(10, device=d) + i for i, d in enumerate(devices)]
tensors[1].eval()
""",
    "a destroyed device": "y = x + 1; x.device.destroy()",
    "a recovered device": """
array = (wt.ones((400, 400)) + 1).numpy()
x.device.destroy(); x.device.recover(); y = wt.ones(3) + 1; y.eval()
""",
    "work in flight": """
y = wt.ones((512, 512))
for _ in range(5):
    y = y @ y / 512
y.eval()
""",
    "a kernel that the driver still compiles": """
y = wt.tanh(wt.ones((1000, 3000)) + 1) % 3.0
y.eval()
""",
    "a finished thread": "t = threading.Thread(target=compute, args=(0.05,)); t.start(); t.join()",
    "a thread at work": "threading.Thread(target=compute, args=(0.2,)).start()",
    "a daemon at work": """
threading.Thread(target=compute, args=(60,), daemon=True).start()
wait_for_work()
""",
    "daemons at work": """
for _ in range(4):
    threading.Thread(target=compute, args=(60,), daemon=True).start()
wait_for_work()
""",
    "a daemon that waits for long work": """
def long():
    y = wt.ones((700, 700))
    for _ in range(40):
        y = y @ y / 700
    y.numpy()
threading.Thread(target=long, daemon=True).start()
wait_for_work()
""",
    "an event loop with reads in flight": """
import asyncio
async def main():
    large = wt.ones((512, 512))
    tasks = [asyncio.ensure_future((large @ large + i).numpy_async()) for i in range(5)]
    await tasks[0]
asyncio.run(main())
y = x * 2
""",
    "an event": "y = (x @ x).eval(); event = wt.Event().record()",
    "persisted state": "state = wt.persist(x, wt.random.default_generator); y = x + 1",
    "a daemon with a device of its own": """
def own():
    d = wt.Device()
    y = wt.ones(1000, device=d)
    while True:
        y = (y + 1) / 2
        y.numpy()
threading.Thread(target=own, daemon=True).start()
time.sleep(0.3)
""",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_process_ends_with(ending: str) -> None:
    script = HEAD + ENDINGS[ending] + "\nprint('end', flush=True)\n"
    out = run_script(script, env=COMPILES, timeout=60)
    assert out.split()[0] == "end"
    if ending == "views read at exit":
        assert out.split() == ["end", "True"]
    if ending == "a destructor that reads":
        assert out.split() == ["end", "fine"]


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("raise ValueError('on purpose')", 1),
        ("sys.exit(3)", 3),
        ("x.reshape(7)", 1),
        ("os._exit(5)", 5),
    ],
)
def test_the_exit_status_is_the_script_s(last: str, status: int) -> None:
    keep = "y = x * 2; large = wt.ones((300, 300)).numpy(); z = x + 1; z.eval()\n"
    daemon = "threading.Thread(target=compute, args=(60,), daemon=True).start(); wait_for_work()\n"
    for before in ("", daemon):
        run_script(HEAD + keep + before + last, status=status, timeout=60)


def test_an_exception_in_a_thread_ends_only_that() -> None:
    run_script(
        HEAD
        + """
threading.excepthook = lambda args: print(args.exc_type.__name__)
t = threading.Thread(target=lambda: x.reshape(7))
t.start(); t.join()
assert (x[:2] + 1).tolist() == [1, 2]
"""
    )


def test_ctrl_c_reaches_a_waiting_read() -> None:
    run_script(
        HEAD
        + """
import _thread, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may ignore it
def interrupt():
    wait_for_work()
    _thread.interrupt_main()
threading.Thread(target=interrupt).start()
try:
    for _ in range(1000):
        compute(0.05)
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
assert (x[:2] + 1).tolist() == [1, 2]
"""
    )


NOTEBOOK = '''
import sys
from jupyter_client.manager import start_new_kernel

def run(client, code):
    reply = client.execute_interactive(code, timeout=90, output_hook=lambda message: None)
    assert reply["content"]["status"] == "ok", reply["content"]

cell = """
import wgtensor as wt
x = wt.ones((300, 300)) + 1
y = await (x @ x).numpy_async()
assert y[0, 0] == 1200
pending, view, event = x * 3, x.T[::2], wt.Event().record()
[(x + i).eval() for i in range(20)]
print(float(pending.sum()))
"""
manager, client = start_new_kernel(kernel_name="python3")
for _ in range(2):
    run(client, cell)
    manager.restart_kernel(now=False)
    client.wait_for_ready(timeout=60)
run(client, cell)
run(client, "wt.default_device().destroy(); wt.default_device().recover(); x = 1")
process = manager.provisioner.process
client.shutdown()
assert process.wait(timeout=30) == 0, process.returncode
client.stop_channels()
print("fine")
'''


def test_a_notebook_restarts() -> None:
    """Kernels with live tensors and work in flight restart and end, as under nbclient."""
    pytest.importorskip("jupyter_client")
    pytest.importorskip("ipykernel")
    assert run_script(NOTEBOOK, timeout=200).endswith("fine\n")


# ---- importing ---------------------------------------------------------------------------------

NO_DRIVER = {
    "VK_DRIVER_FILES": "/nonexistent/driver.json",
    "VK_ICD_FILENAMES": "/nonexistent/driver.json",
    "__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent/egl.json",
    "LIBGL_DRIVERS_PATH": "/nonexistent",
}


def test_importing_does_no_gpu_work() -> None:
    out = run_script(
        """
import os, sys
import numpy
def maps():
    return {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line} \\
        if sys.platform == "linux" else set()
def tasks():
    return len(os.listdir("/proc/self/task")) if sys.platform == "linux" else 0
before, threads = maps(), tasks()
import wgtensor as wt
wt.float32, wt.config.max_fusion, repr(wt.config)
fresh = {name.rsplit("/", 1)[-1] for name in maps() - before}
drivers = {n for n in fresh if "vulkan" in n.lower() or "EGL" in n or "GL" in n or "lvp" in n}
assert not drivers, drivers
assert tasks() == threads, "a thread was started"
wt.ones(3).numpy()
print("fine")
"""
    )
    assert out == "fine\n"


def test_without_any_driver_the_first_use_says_so() -> None:
    run_script(
        """
import wgtensor as wt
assert wt.devices() == ()
assert not wt.is_available()
for use in (lambda: wt.ones(3), lambda: wt.asarray([1.0]), wt.default_device, wt.Device,
            lambda: wt.stats(), lambda: wt.set_default_device("gpu:0")):
    try:
        use()
    except wt.DeviceNotFoundError as error:
        assert isinstance(error, RuntimeError)
        assert "driver" in str(error) and "mesa" in str(error), error
    else:
        raise AssertionError("no error")
""",
        env=NO_DRIVER,
    )
