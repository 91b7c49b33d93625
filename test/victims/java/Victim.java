// SPDX-License-Identifier: Apache-2.0
// Victim MODE SECONDS [THREADS]: a fixed chain of calls with a known split of its time, in the way of MODE.
// It prints from when to when it did so, in ms since 1970, and the CPU time that hot(), warm() and cold() took. A line that ends in "// @name" is
// one that the test knows by that name.

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

public final class Victim {
	static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();
	static final AtomicLongArray SPENT = new AtomicLongArray(3);
	static final int DEPTH = 500;
	static final int PARKED = 50;
	static volatile long sink;
	static volatile long end;

	// Virtual threads have no CPU time of their own.
	static boolean isVirtual;

	static long now() {
		return isVirtual ? System.nanoTime() : CPU.getCurrentThreadCpuTime();
	}

	static void hot(long ns) {
		long start = now(), x = sink, took;
		do {
			for (int i = 0; i < 50000; i++)
				x = x * 31 + (x >>> 7); // @hot
			took = now() - start;
		} while (took < ns);
		sink = x;
		SPENT.addAndGet(0, took);
	}

	static void warm(long ns) {
		long start = now(), x = sink, took;
		do {
			for (int i = 0; i < 50000; i++)
				x = x * 33 ^ (x >>> 5); // @warm
			took = now() - start;
		} while (took < ns);
		sink = x;
		SPENT.addAndGet(1, took);
	}

	static void cold(long ns) {
		long start = now(), x = sink, took;
		do {
			for (int i = 0; i < 50000; i++)
				x = x * 37 - (x >>> 3); // @cold
			took = now() - start;
		} while (took < ns);
		sink = x;
		SPENT.addAndGet(2, took);
	}

	static void round() {
		hot(6_000_000); // @call_hot
		warm(3_000_000); // @call_warm
		cold(1_000_000); // @call_cold
	}

	static boolean more() {
		return System.nanoTime() < end;
	}

	static void chain() {
		while (more())
			round(); // @call_round
	}

	static void deep(int n) {
		if (n > 1)
			deep(n - 1); // @call_deep
		else
			round(); // @deep_round
	}

	static void recursion() {
		while (more())
			deep(DEPTH);
	}

	static void thrower(int n) {
		if (n > 0)
			thrower(n - 1);
		round();
		throw new IllegalStateException("thrown");
	}

	static void exceptions() {
		while (more()) {
			try {
				thrower(3);
			} catch (IllegalStateException e) {
				sink++;
			}
		}
	}

	static void consume(LongConsumer consumer, long value) {
		consumer.accept(value);
	}

	static void lambdas() {
		while (more()) {
			consume(ns -> hot(ns), 6_000_000);
			consume(Victim::warm, 3_000_000);
			consume(ns -> consume(inner -> cold(inner), ns), 1_000_000);
		}
	}

	interface Work {
		void run(long ns);
	}

	static final class Hot implements Work {
		public void run(long ns) {
			hot(ns);
		}
	}

	static final class Warm implements Work {
		public void run(long ns) {
			warm(ns);
		}
	}

	static final class Cold implements Work {
		public void run(long ns) {
			cold(ns);
		}
	}

	static void interfaces() {
		Work[] works = { new Hot(), new Warm(), new Cold() };
		long[] ns = { 6_000_000, 3_000_000, 1_000_000 };

		while (more())
			for (int i = 0; i < works.length; i++)
				works[i].run(ns[i]);
	}

	// Small calls, small copies, garbage: the leaf is anywhere.
	static int add(int a, int b) {
		return a + b;
	}

	static int fibonacci(int n) {
		return n < 2 ? n : add(fibonacci(n - 1), fibonacci(n - 2));
	}

	static void calls() {
		while (more())
			sink += fibonacci(20);
	}

	static void copies() {
		int[] from = new int[2000], to = new int[2000];
		while (more()) {
			for (int i = 0; i < 1000; i++)
				System.arraycopy(from, 0, to, i & 15, 1900);
			Arrays.fill(from, to[5] + 1);
		}
	}

	static void garbage() {
		while (more()) {
			StringBuilder text = new StringBuilder();
			for (int i = 0; i < 200; i++)
				text.append(i).append(String.valueOf(sink));
			sink += text.toString().hashCode();
		}
	}

	static void onThreads(int count) throws Exception {
		Thread[] threads = new Thread[count];
		for (int i = 0; i < count; i++) {
			threads[i] = new Thread(Victim::chain, "victim-" + i);
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
	}

	// Suspended far from the thread's first function: when it goes on, most of its frames stay in the heap.
	static void descend(int n) {
		if (n > 1) {
			descend(n - 1);
		} else {
			LockSupport.parkNanos(1_000_000);
			round();
		}
	}

	// Of JDK 21; by reflection, so that older ones can load this class.
	static void virtualThreads(int count, Runnable work) throws Exception {
		isVirtual = true;
		ExecutorService executor = (ExecutorService) Class.forName("java.util.concurrent.Executors")
			.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
		for (int i = 0; i < count; i++)
			executor.execute(() -> {
				while (more())
					work.run();
			});
		executor.shutdown();
		while (!executor.isTerminated())
			Thread.sleep(50);
	}

	// Java to native to Java and back: libvictim.so.
	static native void callBack(long ns);

	static void calledBack(long ns) {
		hot(ns);
	}

	static native long spinNative(long ns);

	static void natives(String library) {
		System.load(library);
		while (more()) {
			callBack(6_000_000);
			SPENT.addAndGet(1, spinNative(3_000_000));
			cold(1_000_000);
		}
	}

	static void run(String mode, int threads, String library) throws Exception {
		switch (mode) {
		case "chain": chain(); break; // @call_chain
		case "recursion": recursion(); break;
		case "exceptions": exceptions(); break;
		case "lambdas": lambdas(); break;
		case "interfaces": interfaces(); break;
		case "calls": calls(); break;
		case "copies": copies(); break;
		case "garbage": garbage(); break;
		case "threads": onThreads(threads); break;
		case "virtual": virtualThreads(threads, () -> { round(); Thread.yield(); }); break;
		case "parked": virtualThreads(threads, () -> descend(PARKED)); break;
		case "natives": natives(library); break;
		default: throw new IllegalArgumentException(mode);
		}
	}

	public static void main(String[] args) throws Exception {
		int threads = args.length > 2 ? Integer.parseInt(args[2]) : 1;
		String library = args.length > 3 ? args[3] : "";

		now();
		end = System.nanoTime() + Math.round(Double.parseDouble(args[1]) * 1e9);
		System.out.println("from " + System.currentTimeMillis());
		run(args[0], threads, library); // @call_run
		System.out.println("to " + System.currentTimeMillis());
		System.out.println("hot " + SPENT.get(0) + " warm " + SPENT.get(1) + " cold " + SPENT.get(2));
	}
}
