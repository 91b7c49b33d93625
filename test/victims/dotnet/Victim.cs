// SPDX-License-Identifier: Apache-2.0
// A program whose stacks its source tells: test/lang_dotnet.py. Victim.dll SCENARIO [judged FILE] prints its pid and runs
// until it is ended; then, a line each, what .NET's own stack traces say of callers' lines. "# -> NAME" marks the lines that
// call NAME, or what .NET inlines that does, and the ones that .NET takes for these where it has optimized.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Victims
{
	interface IShape
	{
		double Area(int rounds);
	}

	class Base
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public virtual double Work(int rounds)
		{
			double result = Shared(rounds); // # -> Shared
			return result + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		protected double Shared(int rounds)
		{
			double result = Program.Spin(rounds); // # -> Spin
			return result + 1;
		}
	}

	class Derived : Base, IShape
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public override double Work(int rounds)
		{
			double result = base.Work(rounds); // # -> Work
			return result + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public double Area(int rounds)
		{
			double result = Work(rounds); // # -> Work
			return result + 1;
		}

		public class Größe
		{
			[MethodImpl(MethodImplOptions.NoInlining)]
			public static double Messen(int rounds)
			{
				double result = Program.Spin(rounds); // # -> Spin
				return result + 1;
			}
		}
	}

	class Square : IShape
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public double Area(int rounds)
		{
			double result = Program.Spin(rounds); // # -> Spin
			return result + 1;
		}
	}

	class Box<T>
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public double Hold<U>(T item, U other, int rounds)
		{
			double result = Program.Spin(rounds); // # -> Spin
			return result + (item == null ? 0 : 1) + (other == null ? 0 : 1);
		}
	}

	class Number : IComparable<Number>
	{
		public int Value;

		[MethodImpl(MethodImplOptions.NoInlining)]
		public int CompareTo(Number other)
		{
			Program.Sink += Program.Spin(1); // # -> Spin
			return Value.CompareTo(other.Value);
		}
	}

	static class Program
	{
		public static double Sink;

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static double Spin(int rounds)
		{
			double x = rounds;
			for (int i = 0; i < rounds * 1000; i++)
				x = x * 0.999999 + i;
			if (told != null)
				Tell();
			return x;
		}

		static HashSet<string> told;

		static string NameOf(StackFrame frame)
		{
			Type type = frame.GetMethod()?.DeclaringType;
			if (type != null && type.IsGenericType)
				type = type.GetGenericTypeDefinition();
			return type?.FullName.Replace('+', '.') + "." + frame.GetMethod()?.Name;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Tell()
		{
			StackFrame[] frames = new StackTrace(1, true).GetFrames();
			for (int i = 1; i < frames.Length; i++)
				lock (told)
					told.Add(NameOf(frames[i]) + " " + frames[i].GetFileLineNumber() + " " + NameOf(frames[i - 1]));
		}

		static void TellAll(Action scenario)
		{
			told = new HashSet<string>();
			scenario();
			Console.WriteLine(string.Join("\n", told));
			told = null;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static double A()
		{
			double result = Spin(60); // # -> Spin
			return result + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static double B()
		{
			double result = Spin(30); // # -> Spin
			return result + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static double C()
		{
			double result = Spin(10); // # -> Spin
			return result + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void SplitTime()
		{
			double a = A(); // # -> A
			double b = B(); // # -> B
			double c = C(); // # -> C
			Sink += a + b + c;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static double Down(int depth)
		{
			double result;
			if (depth == 0)
				result = Spin(300); // # -> Spin
			else
				result = Down(depth - 1); // # -> Down
			return result + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Recursion()
		{
			Sink += Down(499); // # -> Down
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Thrower()
		{
			Sink += Spin(200); // # -> Spin
			throw new InvalidOperationException("thrown"); // # -> Catcher
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Handler()
		{
			Sink += Spin(200); // # -> Spin
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Catcher()
		{
			try {
				Thrower(); // # -> Thrower
			} catch (InvalidOperationException) {
				Handler(); // # -> Handler
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Exceptions()
		{
			Catcher(); // # -> Catcher
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Objects()
		{
			Base one = new Derived(); // # -> Work
			Sink += one.Work(100); // # -> Work
		}

		static readonly IShape[] shapes = { new Derived(), new Square() };

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Interfaces()
		{
			foreach (IShape shape in shapes) { // # -> Area
				double area = shape.Area(50); // # -> Area
				Sink += area;
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void UnicodeNames()
		{
			Sink += Derived.Größe.Messen(100); // # -> Messen
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Generics()
		{
			Sink += new Box<int>().Hold(1, "text", 50); // # -> Hold
			Sink += new Box<string>().Hold("text", 1.5, 50); // # -> Hold
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Closures()
		{
			int rounds = 50 + (Sink < 0 ? 1 : 0);
			Func<double> work = () => Spin(rounds); // # -> Spin
			Sink += work(); // # -> Spin
		}

		static IEnumerable<double> Numbers()
		{
			for (int i = 0; i < 10; i++) {
				double result = Spin(10); // # -> Spin
				yield return result;
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Generators()
		{
			foreach (double number in Numbers()) // # -> Spin
				Sink += number;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static double Mapped(int number)
		{
			double result = Spin(10); // # -> Spin
			return result + number;
		}

		static readonly int[] ten = Enumerable.Range(0, 10).ToArray();

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Mapping()
		{
			Sink += ten.Select(Mapped).Where(x => x != 0).Sum();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Sorting()
		{
			var list = new List<Number>();
			for (int i = 0; i < 64; i++)
				list.Add(new Number { Value = i * 7919 % 64 });
			list.Sort(); // # -> Sort
		}

		/* Code that was compiled before: dictionaries, strings, numbers as text. */
		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Framework()
		{
			var words = new Dictionary<string, int>();
			for (int i = 0; i < 2000; i++) {
				string word = (i % 97).ToString();
				words.TryGetValue(word, out int count);
				words[word] = count + 1;
			}
			Sink += words.Count;
		}

		[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
		delegate int Comparer(IntPtr a, IntPtr b);

		[DllImport("libc.so.6", EntryPoint = "qsort")]
		static extern void QuickSort(int[] numbers, IntPtr count, IntPtr size, Comparer compare);

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Compare(IntPtr a, IntPtr b)
		{
			Sink += Spin(2); // # -> Spin
			return Marshal.ReadInt32(a).CompareTo(Marshal.ReadInt32(b));
		}

		static readonly Comparer compare = Compare;

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Native()
		{
			int[] numbers = new int[64];
			for (int i = 0; i < 64; i++)
				numbers[i] = i * 7919 % 64;
			QuickSort(numbers, (IntPtr)64, (IntPtr)4, compare);
		}

		static readonly Func<double> made = Make();

		/* A method that is generated when the program runs, and calls Spin(). */
		static Func<double> Make()
		{
			var method = new DynamicMethod("Generated", typeof(double), Type.EmptyTypes, typeof(Program).Module);
			ILGenerator code = method.GetILGenerator();

			code.Emit(OpCodes.Ldc_I4, 100);
			code.Emit(OpCodes.Call, typeof(Program).GetMethod("Spin"));
			code.Emit(OpCodes.Ldc_R8, 1.0);
			code.Emit(OpCodes.Add);
			code.Emit(OpCodes.Ret);
			return (Func<double>)method.CreateDelegate(typeof(Func<double>));
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Dynamic()
		{
			Sink += made();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static async Task<double> Inner()
		{
			await Task.Yield();
			double result = Spin(2000); // # -> Spin
			return result + 1;
		}

		static async Task<double> Outer()
		{
			double result = await Inner();
			return result + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Asynchronous()
		{
			Sink += Outer().Result;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Work8()
		{
			while (true)
				SplitTime(); // # -> SplitTime
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Threads()
		{
			for (int i = 0; i < 8 && !started; i++)
				new Thread(Work8) { IsBackground = true }.Start();
			Thread.Sleep(started ? Timeout.Infinite : 2000);
			started = true;
		}

		static bool started;

		static readonly Dictionary<string, Action> scenarios = new Dictionary<string, Action> {
			{ "split_time", SplitTime }, { "recursion", Recursion }, { "exceptions", Exceptions },
			{ "objects", Objects }, { "interfaces", Interfaces }, { "unicode_names", UnicodeNames },
			{ "generics", Generics }, { "closures", Closures }, { "generators", Generators },
			{ "mapping", Mapping }, { "sorting", Sorting }, { "framework", Framework }, { "native", Native },
			{ "dynamic", Dynamic }, { "asynchronous", Asynchronous }, { "threads", Threads },
		};

		static void Main(string[] arguments)
		{
			Action scenario = scenarios[arguments[0]];

			/* Compiled well by then: .NET waits for a pause of 100 ms before it does. */
			Stopwatch clock = Stopwatch.StartNew();
			for (int i = 0; arguments[0] == "threads" ? i < 1 : i < 100 || clock.ElapsedMilliseconds < 2000; i++)
				scenario(); // # -> SplitTime Recursion Exceptions Objects Interfaces UnicodeNames Generics Closures
			Console.WriteLine(Process.GetCurrentProcess().Id);
			if (arguments[0] != "threads")
				TellAll(scenario);
			Console.WriteLine(".");
			Console.Out.Flush();
			while (true)
				scenario(); // # -> SplitTime Recursion Exceptions Objects Interfaces UnicodeNames Generics Closures
		}
	}
}
