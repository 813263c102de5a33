<?php
// A small neural network, 8-16-1, learns parity. Every vector is a new array, as PHP programs have it.
function forward(array $weights, array $inputs): array {
    $outputs = [];
    foreach ($weights as $row) {
        $sum = 0.0;
        foreach ($row as $i => $weight) {
            $sum += $weight * $inputs[$i];
        }
        $outputs[] = tanh($sum);
    }
    return $outputs;
}
mt_srand(1);
$hidden = [];
$output = [];
for ($j = 0; $j < 16; $j++) {
    for ($i = 0; $i < 9; $i++) {
        $hidden[$j][$i] = mt_rand() / mt_getrandmax() - 0.5;
    }
    $output[0][$j] = mt_rand() / mt_getrandmax() - 0.5;
}
for ($k = 0; $k < (int) ($argv[1] ?? 20000); $k++) {
    $bits = mt_rand(0, 255);
    $inputs = str_split(strrev(decbin(256 + $bits)));
    $state = forward($hidden, $inputs);
    $error = substr_count(decbin($bits), "1") % 2 - forward($output, $state)[0];
    foreach ($state as $j => $value) {
        $step = 0.01 * $error;
        $slope = $step * $output[0][$j] * (1 - $value * $value);
        $output[0][$j] += $step * $value;
        foreach ($inputs as $i => $input) {
            $hidden[$j][$i] += $slope * $input;
        }
    }
}
echo round($error, 6), "\n";
