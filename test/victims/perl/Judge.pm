# SPDX-License-Identifier: Apache-2.0
# Before a victim (-MJudge): asks Perl itself, by a signal of its CPU time, which subs it is in until it is told to end;
# /tmp/judge.json has the share of samples that each is in.
package Judge;
use strict;
use warnings;
use Time::HiRes qw(setitimer ITIMER_PROF);

my (%count, $samples);

$SIG{PROF} = sub {
	my %seen;
	for (my $i = 1; my @frame = caller($i); $i++) {
		$seen{ $frame[3] } = 1;
	}
	$samples++;
	$count{$_}++ for keys %seen;
};
$SIG{TERM} = sub {
	setitimer(ITIMER_PROF, 0);
	open my $out, '>', '/tmp/judge.json' or die;
	my $shares = join ',', map { sprintf '"%s":%.4f', $_, $count{$_} / $samples } sort keys %count;
	print $out "{\"samples\":$samples,\"shares\":{$shares}}";
	close $out;
	exit 0;
};
setitimer(ITIMER_PROF, 0.002003, 0.002003);

1;
