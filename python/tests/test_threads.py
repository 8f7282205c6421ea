"""Threads, asyncio, limits, cancelling and Ctrl-C."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import tvm_vm

LONG = 1 << 40  # steps


def test_many_threads_call_one_vm(np, vm):
    def work(seed):
        random_numbers = np.random.default_rng(seed)
        for _ in range(200):
            x = random_numbers.random(random_numbers.integers(1, 3000), dtype="f4")
            np.testing.assert_array_equal(vm(x, x), x + x)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_the_interpreter_goes_on_during_a_run(np, endless):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    ticker = threading.Thread(target=tick)
    ticker.start()
    with pytest.raises(tvm_vm.DeadlineExceeded):
        endless.run({"steps": LONG, "x": np.ones(8, "f4")}, timeout=0.3)
    stop.set()
    ticker.join()
    assert len(ticks) > 5


def test_timeouts(np, endless):
    x = {"steps": LONG, "x": np.ones(8, "f4")}
    begin = time.monotonic()
    with pytest.raises(TimeoutError) as caught:
        endless.run(x, timeout=0.1)
    assert caught.value.code == "deadline_exceeded" and time.monotonic() - begin < 5
    with pytest.raises(tvm_vm.DeadlineExceeded):
        tvm_vm.Vm(endless.program, timeout=0.05, threads=1).run(x)
    with pytest.raises(tvm_vm.DeadlineExceeded):
        tvm_vm.Vm(endless.program, max_steps=1000, threads=1).run(x)
    for timeout in (3600, 1e18, float("inf")):
        assert endless.run({"steps": 1, "x": np.zeros(1, "f4")}, timeout=timeout)["y"].tolist() == [0]


def test_memory_limit(np, models):
    vm = tvm_vm.Vm(tvm_vm.compile(models.add()), max_bytes=1 << 16)
    x = np.ones(1 << 20, "f4")
    with pytest.raises(MemoryError) as caught:
        vm(x, x)
    assert caught.value.code == "out_of_memory"
    assert vm(x[:4], x[:4]).tolist() == [2] * 4


def test_cancel_from_another_thread(np, endless):
    token = tvm_vm.CancelToken()
    threading.Timer(0.1, token.cancel).start()
    with pytest.raises(tvm_vm.Cancelled):
        endless.run({"steps": LONG, "x": np.ones(8, "f4")}, cancel=token)
    assert token.cancelled
    with pytest.raises(tvm_vm.Cancelled):  # from now on
        endless.run({"steps": LONG, "x": np.ones(8, "f4")}, cancel=token)
    threading.Timer(0.1, endless.cancel).start()
    with pytest.raises(tvm_vm.Cancelled):
        endless.run({"steps": LONG, "x": np.ones(8, "f4")})
    assert endless(0, np.ones(1, "f4")).tolist() == [1]


def test_asyncio(np, endless, vm):
    x = np.ones(3, "f4")

    async def main():
        results = await asyncio.gather(*(vm.run_async({"x": x, "y": x * i}) for i in range(10)))
        assert [result["z"][0] for result in results] == list(range(1, 11))
        assert (await asyncio.to_thread(vm, x, x)).tolist() == [2, 2, 2]
        begin = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(endless.run_async({"steps": LONG, "x": x}), 0.1)
        with pytest.raises(tvm_vm.DeadlineExceeded):
            await endless.run_async({"steps": LONG, "x": x}, timeout=0.1)
        assert time.monotonic() - begin < 10

    asyncio.run(main())


def test_tasks_are_cancelled_at_random(np, endless, vm):
    """Of 60 tasks some end by themselves, some are cancelled before, while or after they run; none is lost."""
    choose = random.Random(7)
    x = np.ones(8, "f4")

    async def main():
        tasks = []
        for i in range(60):
            if i % 3 == 0:
                tasks.append(asyncio.create_task(endless.run_async({"steps": LONG, "x": x})))
            else:
                tasks.append(asyncio.create_task(vm.run_async({"x": x, "y": x})))
            if choose.randrange(2):
                await asyncio.sleep(0)
            if choose.randrange(3) == 0:
                choose.choice(tasks).cancel()
        for task in tasks[::3]:  # which would never end
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results[::3])
        for result in results:
            assert isinstance(result, asyncio.CancelledError) or result["z"].tolist() == [2] * 8
        assert (await vm.run_async({"x": x, "y": x}))["z"].tolist() == [2] * 8

    asyncio.run(main())


CTRL_C = """
import os, signal, sys, threading, time
import numpy as np, tvm_vm
vm = tvm_vm.Vm(sys.argv[1], threads=int(sys.argv[2]))
x = np.ones(8, "f4")
if sys.argv[3] == "handler":
    signal.signal(signal.SIGINT, lambda *_: print("handled", flush=True))
for attempt in range(3):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        vm(1 << 40, x)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    except tvm_vm.Cancelled:
        print("cancelled", flush=True)
print(vm(0, x)[0])
"""


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("handler", ["default", "handler"])
def test_ctrl_c(np, endless, tmp_path, threads, handler):
    path = tmp_path / "loop.vmexe"
    endless.program.save(path)
    shown = subprocess.run([sys.executable, "-c", CTRL_C, path, threads, handler], capture_output=True, text=True, timeout=120)
    expected = ["interrupted"] * 3 if handler == "default" else ["handled", "cancelled"] * 3
    assert shown.stdout.split() == expected + ["1.0"], shown.stdout + shown.stderr


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_random_threads_and_cancels(np, endless, vm):
    """TVMVM_TEST_SECONDS says for how long; a second or two without it. In a long run memory does not grow after its first third."""
    seconds = float(os.environ.get("TVMVM_TEST_SECONDS", "1.5"))
    end = time.monotonic() + seconds
    unexpected = []

    def work(seed):
        choose = random.Random(seed)
        x = np.ones(8, "f4")
        while time.monotonic() < end and not unexpected:
            token = tvm_vm.CancelToken()
            try:
                kind = choose.randrange(5)
                if kind == 0:
                    threading.Timer(choose.random() / 50, token.cancel).start()
                    endless.run({"steps": LONG, "x": x}, cancel=token)
                elif kind == 1:
                    endless.run({"steps": LONG, "x": x}, timeout=choose.random() / 50)
                elif kind == 2:
                    vm(x, x[: choose.randrange(1, 9)])
                elif kind == 3:
                    vm.cancel()
                else:
                    vm.run({"x": x, "y": x}, cancel=token)
            except (tvm_vm.Cancelled, tvm_vm.DeadlineExceeded, tvm_vm.InvalidArgument):
                pass
            except BaseException as error:  # whatever it is
                unexpected.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    time.sleep(seconds / 3)
    resident = resident_bytes()
    for worker in workers:
        worker.join()
    assert not unexpected
    assert seconds < 30 or resident_bytes() < resident + (16 << 20)
    assert vm(np.ones(1, "f4"), np.ones(1, "f4")).tolist() == [2]
