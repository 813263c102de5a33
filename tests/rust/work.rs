//! What all programs here do: containers that grow, shrink and hold one another, from a seed.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

struct Random(u32);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (u64::from(self.0) * u64::from(bound) >> 32) as u32
    }
}

trait Shape {
    fn area(&self) -> u32;
}

struct Square(u32);
struct Polygon(Vec<u32>);

impl Shape for Square {
    fn area(&self) -> u32 {
        self.0.wrapping_mul(self.0)
    }
}

impl Shape for Polygon {
    fn area(&self) -> u32 {
        self.0.iter().fold(0, |sum, &side| sum.wrapping_add(side))
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u32; 16]);

fn is_aligned<T>(object: *const T) -> bool {
    object as usize % align_of::<T>() == 0
}

/// Bytes of the object that is there when `look` is called.
pub const MARK: usize = 4127;

/// Returns a checksum. Calls `look` once, in the middle.
pub fn work(seed: u32, mut look: impl FnMut()) -> u32 {
    let mut random = Random(seed * 2 + 1);
    let mut checksum = 2166136261u32;
    let mut add = |value: u32| checksum = (checksum ^ value).wrapping_mul(16777619);
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    let mut shapes: Vec<Box<dyn Shape>> = Vec::new();
    for round in 0..400 {
        let name = names.entry(random.below(40)).or_default();
        for _ in 0..random.below(12) {
            name.push(char::from(b'a' + random.below(26) as u8));
        }
        if name.len() > 60 {
            name.truncate(20);
            name.shrink_to_fit();
        }
        name.bytes().for_each(|letter| add(u32::from(letter)));
        match random.below(3) {
            0 => shapes.push(Box::new(Square(random.below(100)))),
            1 => shapes.push(Box::new(Polygon((0..random.below(30)).collect()))),
            _ => add(shapes.pop().map_or(0, |shape| shape.area())),
        }
        if shapes.len() > 20 {
            shapes.drain(5..).for_each(|shape| add(shape.area()));
        }
        let mut lines = vec![Line([random.below(9); 16]); 1 + random.below(3) as usize];
        lines.reserve_exact(4); // an aligned object grows
        assert!(is_aligned(lines.as_ptr()));
        add(lines[0].0[15]);
        let zeros = vec![0u32; 1 + random.below(200) as usize];
        let wide = vec![Line([0; 16]); 2];
        assert!(zeros.iter().all(|&zero| zero == 0) && is_aligned(wide.as_ptr()));
        if round == 200 {
            let mark = core::hint::black_box(Box::new([1u8; MARK]));
            look();
            add(u32::from(mark[MARK - 1]));
        }
        if round % 50 == 49 {
            names.retain(|number, _| number % 3 != 0);
        }
    }
    checksum
}
