// SPDX-License-Identifier: Apache-2.0
// Corrupt SEED MILLISECONDS: works for a while as any program does, then writes over what the JVM keeps of itself, some words
// every millisecond, until the JVM falls or the time is over. SEED says where to: headers of generated code and the map of its
// segments, classes and methods, libjvm's own variables, or all of them.

import java.io.BufferedReader;
import java.io.FileReader;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import sun.misc.Unsafe;

public final class Corrupt {
	static final int WORDS = 64;		// at a time
	static final int REGION_MAX = 1 << 20;	// bytes of a mapping, its first ones: the rest is seldom used
	static volatile long sink;

	static long mix(long x) {
		return x * 31 + (x >>> 7);
	}

	static void work() {
		for (;;)
			for (int i = 0; i < 1000; i++)
				sink = mix(sink);
	}

	// {start, end} of the mappings that a kind of structures lies in.
	static List<long[]> regions(int kind) throws Exception {
		List<long[]> found = new ArrayList<>();
		try (BufferedReader maps = new BufferedReader(new FileReader("/proc/self/maps"))) {
			boolean isCode = false;
			for (String line; (line = maps.readLine()) != null;) {
				String[] part = line.split(" +");
				String[] range = part[0].split("-");
				long[] region = { Long.parseUnsignedLong(range[0], 16), Long.parseUnsignedLong(range[1], 16) };
				boolean isData = part[1].startsWith("rw-"), isNamed = part.length > 5;
				if ((kind == 0 || kind == 3) && !isNamed && (part[1].startsWith("rwx") || isCode && isData))
					found.add(region);
				if ((kind == 1 || kind == 3) && isData && (part.length > 5 && part[5].endsWith(".jsa")))
					found.add(region);
				if ((kind == 2 || kind == 3) && isData && isNamed && part[5].endsWith("libjvm.so"))
					found.add(region);
				isCode = part[1].startsWith("rwx");
			}
		}
		return found;
	}

	static void corrupt(Unsafe unsafe, Random random, List<long[]> regions, long end) throws Exception {
		while (System.nanoTime() < end) {
			for (int i = 0; i < WORDS; i++) {
				long[] region = regions.get(random.nextInt(regions.size()));
				long bytes = Math.min(region[1] - region[0], REGION_MAX);
				long at = region[0] + ((random.nextLong() >>> 1) % bytes & ~7L);
				// Half of the words are plausible: addresses of the JVM's own.
				long other = regions.get(random.nextInt(regions.size()))[0] + random.nextInt(REGION_MAX);
				unsafe.putLong(at, random.nextBoolean() ? other : random.nextLong());
			}
			Thread.sleep(1);
		}
	}

	public static void main(String[] args) throws Exception {
		long seed = Long.parseLong(args[0]);
		Field field = Unsafe.class.getDeclaredField("theUnsafe");
		field.setAccessible(true);
		Thread worker = new Thread(Corrupt::work);
		worker.setDaemon(true);
		worker.start();
		Thread.sleep(300);
		corrupt((Unsafe) field.get(null), new Random(seed), regions((int) (seed & 3)),
			System.nanoTime() + Long.parseLong(args[1]) * 1_000_000);
		Runtime.getRuntime().halt(0);
	}
}
