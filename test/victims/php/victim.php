<?php
// SPDX-License-Identifier: Apache-2.0
// A PHP program whose stacks are known: victim.php SCENARIO runs one for ever. It prints its pid when it is there.
//
// What a caller's line must be is marked at its end with # and an arrow. Runs on PHP 7.4 and later.

function spin($n)
{
	$total = 0;
	for ($i = 0; $i < $n; $i++) {
		$total = ($total + $i) & 1023;
	}
	return $total;
}

function a($n)
{
	$total = 0;
	for ($i = 0; $i < $n; $i++) {
		$total = ($total + $i) & 1023;
	}
	return $total;
}

function b($n)
{
	$total = 0;
	for ($i = 0; $i < $n; $i++) {
		$total = ($total + $i) & 1023;
	}
	return $total;
}

function c($n)
{
	$total = 0;
	for ($i = 0; $i < $n; $i++) {
		$total = ($total + $i) & 1023;
	}
	return $total;
}

// Rounds of one length, or of some that come again, could keep step with the sampler's clock: lengths are by chance.
function split_time()
{
	$chance = 1;
	while (true) {
		$chance = ($chance * 1103 + 12345) % 65536;
		$length = 300 + $chance % 1401;
		a(60 * $length); # -> a
		b(30 * $length); # -> b
		c(10 * $length); # -> c
	}
}

function down($n)
{
	if ($n > 0) {
		return down($n - 1); # -> down
	}
	return spin(300000); # -> spin
}

function recursion()
{
	while (true) {
		down(499); # -> down
	}
}

function thrower()
{
	spin(20000); # -> spin
	throw new InvalidArgumentException("expected");
}

function handler()
{
	spin(20000); # -> spin
}

function catcher()
{
	try {
		thrower(); # -> thrower
	} catch (InvalidArgumentException $e) {
		handler(); # -> handler
	}
}

function exceptions()
{
	while (true) {
		catcher(); # -> catcher
	}
}

function closures()
{
	$inner = function ($n) {
		spin($n); # -> spin
	};
	while (true) {
		$inner(20000); # -> closure
	}
}

const NUMBERS = [3, 1, 2, 5, 4];

function mapped($n)
{
	return spin(5000 * $n); # -> spin
}

function mapping()
{
	while (true) {
		array_map('mapped', NUMBERS);
	}
}

function compare($x, $y)
{
	spin(5000); # -> spin
	return $x <=> $y;
}

function sorting()
{
	while (true) {
		$all = NUMBERS;
		usort($all, 'compare');
	}
}

// As little as possible in each comparison.
function tiny($x, $y)
{
	return $x <=> $y;
}

function sorting_much()
{
	$many = [];
	for ($i = 0; $i < 1000; $i++) {
		$many[] = $i * 7919 % 1000;
	}
	while (true) {
		$all = $many;
		usort($all, 'tiny');
	}
}

function replaced($match)
{
	spin(20000); # -> spin
	return $match[0];
}

function substitution()
{
	while (true) {
		preg_replace_callback('/\w+/', 'replaced', 'one two three');
	}
}

trait Shared
{
	public function shared()
	{
		spin(20000); # -> spin
	}
}

class Base
{
	use Shared;

	public function work()
	{
		$this->shared(); # -> shared
	}

	public static function build()
	{
		return new static();
	}

	public function __call($name, $arguments)
	{
		spin(20000); # -> spin
	}
}

class Derived extends Base
{
	public function work()
	{
		parent::work(); # -> work
	}

	public function größe()
	{
		spin(20000); # -> spin
	}
}

function objects()
{
	$object = Derived::build();
	while (true) {
		$object->work(); # -> work
	}
}

function unicode_names()
{
	$object = Derived::build();
	while (true) {
		$object->größe(); # -> größe
	}
}

function magic()
{
	$object = Derived::build();
	while (true) {
		$object->missing(); # -> __call
	}
}

function numbers()
{
	while (true) {
		spin(20000); # -> spin
		yield 1;
	}
}

function generators()
{
	foreach (numbers() as $number) { # -> numbers
	}
}

function fiber_body()
{
	while (true) {
		spin(20000); # -> spin
		Fiber::suspend();
	}
}

function fibers()
{
	$fiber = new Fiber('fiber_body');
	$fiber->start();
	while (true) {
		$fiber->resume();
	}
}

class Gone
{
	public function __destruct()
	{
		spin(20000); # -> spin
	}
}

function destroying()
{
	while (true) {
		$object = new Gone();
		$object = null; # -> __destruct
	}
}

function evaluated()
{
	while (true) {
		eval('spin(200000);');
	}
}

function including()
{
	while (true) {
		include '/tmp/included.php';
	}
}

function strings()
{
	$text = str_repeat('some text ', 1000);
	while (true) {
		md5($text);
	}
}

// Its own backtrace, asked for by a signal of its CPU time: what share of samples each function is in.
function judge()
{
	$count = [];
	$samples = 0;
	pcntl_async_signals(true);
	pcntl_signal(SIGPROF, function () use (&$count, &$samples) {
		$seen = [];
		foreach (array_slice(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS), 1) as $frame) {
			$seen[(isset($frame['class']) ? $frame['class'] . '::' : '') . $frame['function']] = 1;
		}
		$samples++;
		foreach ($seen as $name => $one) {
			$count[$name] = ($count[$name] ?? 0) + 1;
		}
	});
	pcntl_signal(SIGTERM, function () use (&$count, &$samples) {
		$shares = array_map(function ($n) use ($samples) { return $n / $samples; }, $count);
		file_put_contents('/tmp/judge.json', json_encode(['samples' => $samples, 'shares' => $shares]));
		exit(0);
	});
}

function main($scenario, $judged)
{
	if ($judged) {
		judge();
	}
	echo getmypid(), "\n";
	$scenario(); # -> any
}

main($argv[1], isset($argv[2])); # -> main
