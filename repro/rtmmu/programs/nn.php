<?php
// Trains a small neural network (8 inputs, 16 hidden, 1 output) by gradient descent to tell whether
// more than half of eight bits are set. Stands for the paper's PHP program [P0-36]. Run it with
// USE_ZEND_ALLOC=0: PHP's own allocator would hide the heap. `php nn.php ROUNDS`; exit status 1 if
// the error has not become smaller.
mt_srand(1);
const INPUTS = 8, HIDDEN = 16, RATE = 0.5;

function sigmoid(float $x): float { return 1.0 / (1.0 + exp(-$x)); }
function weight(): float { return mt_rand() / mt_getrandmax() - 0.5; }
function weights(int $count): array { return array_map(fn() => weight(), range(1, $count)); }

$first = array_map(fn() => weights(INPUTS + 1), range(1, HIDDEN));
$second = weights(HIDDEN + 1);

function forward(array $input, array $first, array $second): array {
    $hidden = array_map(
        fn($row) => sigmoid($row[INPUTS] + array_sum(array_map(fn($w, $x) => $w * $x,
                                                               array_slice($row, 0, INPUTS), $input))),
        $first);
    $sum = $second[HIDDEN];
    foreach ($hidden as $j => $h) { $sum += $second[$j] * $h; }
    return [$hidden, sigmoid($sum)];
}

$errors = [];
for ($round = 0; $round < (int)$argv[1]; $round++) {
    $input = array_map(fn() => mt_rand(0, 1), range(1, INPUTS));
    $target = array_sum($input) > INPUTS / 2 ? 1.0 : 0.0;
    [$hidden, $output] = forward($input, $first, $second);
    $errors[] = ($target - $output) ** 2;
    $delta = ($target - $output) * $output * (1 - $output);
    foreach ($hidden as $j => $h) {
        $back = $delta * $second[$j] * $h * (1 - $h);
        $second[$j] += RATE * $delta * $h;
        foreach ($input as $i => $x) { $first[$j][$i] += RATE * $back * $x; }
        $first[$j][INPUTS] += RATE * $back;
    }
    $second[HIDDEN] += RATE * $delta;
}
$part = intdiv(count($errors), 5);
$before = array_sum(array_slice($errors, 0, $part)) / $part;
$after = array_sum(array_slice($errors, -$part)) / $part;
printf("nn: mean squared error %.4f, then %.4f\n", $before, $after);
exit($after < $before ? 0 : 1);
