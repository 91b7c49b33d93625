# SPDX-License-Identifier: Apache-2.0
# A Perl program whose stacks are known: victim.pl SCENARIO runs one for ever. It prints its pid when it is there.
#
# What a caller's line must be is marked: "# -> CALLEE ...". Runs on Perl 5.28 and later.
use strict;
use warnings;
use utf8;
no warnings qw(recursion once);

sub spin {
	my ($n) = @_;
	my $total = 0;
	for (my $i = 0; $i < $n; $i++) {
		$total = $total + $i & 1023;
	}
	return $total;
}

sub a {
	my ($n) = @_;
	my $total = 0;
	for (my $i = 0; $i < $n; $i++) {
		$total = $total + $i & 1023;
	}
	return $total;
}

sub b {
	my ($n) = @_;
	my $total = 0;
	for (my $i = 0; $i < $n; $i++) {
		$total = $total + $i & 1023;
	}
	return $total;
}

sub c {
	my ($n) = @_;
	my $total = 0;
	for (my $i = 0; $i < $n; $i++) {
		$total = $total + $i & 1023;
	}
	return $total;
}

# Rounds of one length, or of some that come again, could keep step with the sampler's clock: lengths are by chance.
my $chance = 1;
my $length = 1000;

sub split_time {
	while (1) {
		$length = 300 + ($chance = ($chance * 1103 + 12345) % 65536) % 1401;
		a(6 * $length);    # -> a
		b(3 * $length);    # -> b
		c(1 * $length);    # -> c
	}
}

sub down {
	my ($n) = @_;
	return down($n - 1) if $n > 0;    # -> down
	return spin(30_000);              # -> spin
}

sub recursion {
	while (1) {
		down(499);    # -> down
	}
}

sub thrower {
	spin(2 * $length);    # -> spin
	die "expected\n";
}

sub handler {
	spin(2000);    # -> spin
}

sub catcher {
	my $is_good = eval {
		thrower();    # -> thrower
		1;
	};
	handler() unless $is_good;    # -> handler
}

sub exceptions {
	while (1) {
		catcher();    # -> catcher
	}
}

# Two evals of one run, and a sub between them.
sub nested_inner {
	eval {
		spin(2 * $length);    # -> spin
	};
}

sub nested_evals {
	while (1) {
		eval {
			nested_inner();    # -> nested_inner
		};
	}
}

sub closures {
	my $inner = sub {
		my ($n) = @_;
		spin($n);    # -> spin
	};
	while (1) {
		my $outer = sub {
			$inner->(2000);    # -> __ANON__
		};
		$outer->();    # -> __ANON__
	}
}

# What generators are in Perl.
sub make_numbers {
	my $n = 0;
	return sub {
		spin(2000);    # -> spin
		return $n++;
	};
}

sub generators {
	my $next = make_numbers();
	while (1) {
		$next->();    # -> __ANON__
	}
}

my @numbers = (3, 1, 2, 5, 4);

sub mapping {
	while (1) {
		my @all = map { spin(200 * $_) } @numbers;    # -> spin
	}
}

sub key {
	my ($value) = @_;
	spin(1500);    # -> spin
	return -$value;
}

sub sorting {
	while (1) {
		my @all = sort { key($a) <=> key($b) } @numbers;    # -> key
	}
}

sub by_key {
	return key($a) <=> key($b);    # -> key
}

sub sorting_by_sub {
	while (1) {
		my @all = sort by_key @numbers;    # -> by_key
	}
}

# As little as possible in each comparison.
sub sorting_much {
	my @many = map { $_ * 7919 % 1000 } 1 .. 1000;
	while (1) {
		my @all = sort { $a + 0 <=> $b + 0 } @many;
	}
}

sub replace {
	my ($text) = @_;
	spin(2000);    # -> spin
	return $text;
}

sub substitution {
	while (1) {
		my $text = "one two three";
		$text =~ s/(\w+)/replace($1)/ge;    # -> replace
	}
}

# A module in C that calls a block again and again.
sub first_of {
	while (1) {
		List::Util::first(sub { spin(300 * $_) > 9999 }, @numbers);    # -> spin __ANON__
	}
}

# ... which does nothing.
sub first_tiny {
	my @many = (1 .. 1000);
	while (1) {
		List::Util::first(sub { $_ > 9999 }, @many);    # -> __ANON__
	}
}

package Shared {
	sub shared {
		main::spin(2000);    # -> spin
	}
}

package Base {
	our @ISA = ('Shared');

	sub new {
		my ($class) = @_;
		return bless {}, $class;
	}

	sub work {
		my ($self) = @_;
		$self->shared();    # -> shared
	}
}

package Derived {
	our @ISA = ('Base');

	sub work {
		my ($self) = @_;
		$self->SUPER::work();    # -> work
	}

	sub größe {
		main::spin(2000);    # -> spin
	}
}

package Auto {
	our $AUTOLOAD;

	sub AUTOLOAD {
		main::spin(2000);    # -> spin
	}
}

package Tied {
	sub TIESCALAR {
		return bless [], $_[0];
	}

	sub FETCH {
		main::spin(2000);    # -> spin
		return 1;
	}
}

package Sum {
	use overload '+' => \&add, fallback => 1;

	sub add {
		main::spin(2000);    # -> spin
		return $_[0];
	}
}

package Gone {
	sub DESTROY {
		main::spin(2000);    # -> spin
	}
}

package main;

sub objects {
	my $object = Derived->new();
	while (1) {
		$object->work();    # -> work
	}
}

sub unicode_names {
	while (1) {
		Derived->größe();    # -> größe
	}
}

sub autoloaded {
	while (1) {
		Auto->missing();    # -> AUTOLOAD
	}
}

sub tied_scalar {
	tie my $scalar, 'Tied';
	my $total = 0;
	while (1) {
		$total += $scalar;    # -> FETCH
	}
}

sub overloaded {
	my $sum = bless [], 'Sum';
	while (1) {
		my $other = $sum + 1;    # -> add
	}
}

sub destroying {
	while (1) {
		my $object = bless [], 'Gone';
		undef $object;    # -> DESTROY
	}
}

sub target {
	spin(2000);    # -> spin
}

sub going {
	goto &target;
}

sub gone_to {
	while (1) {
		going();    # -> target
	}
}

sub lexical {
	my $round = 0;
	my sub inner {
		spin(2000);    # -> spin
	}
	while (1) {
		inner();    # -> inner
	}
}

sub on_signal {
	spin(2000);    # -> spin
}

sub signals {
	local $SIG{USR1} = \&on_signal;
	while (1) {
		kill 'USR1', $$;
	}
}

sub evaluated {
	while (1) {
		eval "spin(20000)";
	}
}

sub requiring {
	while (1) {
		delete $INC{'/tmp/required.pl'};
		require '/tmp/required.pl';
	}
}

sub thread_body {
	while (1) {
		spin(2000);    # -> spin
	}
}

sub threads_of {
	require threads;
	my @all = map { threads->create(\&thread_body) } 1 .. 8;
	$_->join() for @all;
}

sub called {
	spin(2 * $length);    # -> spin
}

sub native {
	while (1) {
		$length = 300 + ($chance = ($chance * 1103 + 12345) % 65536) % 1401;
		Native::call(\&called, sub { spin(2 * $length) });    # -> spin called __ANON__
	}
}

# Called by C code, which does not catch die(): the eval must do so, in a run of its own.
sub caught {
	my $catching = sub {
		eval {
			nested_inner();    # -> nested_inner
			thrower();         # -> thrower
		};
	};
	while (1) {
		$length = 300 + ($chance = ($chance * 1103 + 12345) % 65536) % 1401;
		Native::call(\&called, $catching);    # -> called __ANON__
	}
}

sub hashes {
	my %count;
	while (1) {
		for my $i (1 .. 1000) {
			$count{"key $i"} .= "a text" x 3;
		}
		%count = ();
	}
}

# Spoils, at random, what it never looks at itself but a profiler does: names, file and line of running code.
sub corrupt {
	srand($ENV{VICTIM_SEED});
	while (1) {
		spin(2000);
		Native::spoil(\*spin, int rand(1 << 24));
	}
}

my %scenarios = map { $_ => main->can($_) } qw(
	split_time recursion exceptions nested_evals closures generators mapping sorting sorting_by_sub sorting_much
	substitution first_of first_tiny objects unicode_names autoloaded tied_scalar overloaded destroying gone_to lexical
	signals evaluated requiring threads_of native caught hashes corrupt
);

sub load_native {
	require DynaLoader;
	my $library = DynaLoader::dl_load_file($ENV{VICTIM_NATIVE}, 0) or die DynaLoader::dl_error();
	my $boot = DynaLoader::dl_find_symbol($library, 'boot_native') or die DynaLoader::dl_error();
	DynaLoader::dl_install_xsub('Native::bootstrap', $boot)->();
}

sub main {
	load_native() if $ARGV[0] =~ /^(native|caught|corrupt)$/;
	require List::Util if $ARGV[0] =~ /^first/;
	$| = 1;
	print "$$\n";
	$scenarios{ $ARGV[0] }->();    # -> any
}

main();    # -> main
