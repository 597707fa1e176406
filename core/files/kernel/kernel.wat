;; The fast part of `core/files/csv-scan.ts` and `core/files/hebrew.ts`: 64 bytes at a time, one bit for each of them.
;; Both functions stop in front of a block that holds anything unusual; the state machines in TypeScript read it then.
;; `npm run generate` assembles it into kernel-bytes.ts.
(module
  ;; The piece of text begins at 0, the state at 65536: numbers as JavaScript has them. At 65696 are the first eight bytes of the
  ;; first record and which bits of them count, then the same for that record in quotation marks.
  (memory (export "memory") 2)

  ;; Signs of Hebrew, between two blocks.
  (global $highBytes (mut i64) (i64.const 0))
  (global $joinedLetters (mut i64) (i64.const 0))
  (global $before (mut i64) (i64.const 0))

  ;; A number of the state, and its place.
  (func $take (param $at i32) (result i64)
    (i64.trunc_f64_s (f64.load (local.get $at))))

  (func $give (param $at i32) (param $value i64)
    (f64.store (local.get $at) (f64.convert_i64_s (local.get $value))))

  ;; The top bits of 64 bytes.
  (func $bits (param $a v128) (param $b v128) (param $c v128) (param $d v128) (result i64)
    (i64.or
      (i64.or
        (i64.extend_i32_u (i8x16.bitmask (local.get $a)))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $b))) (i64.const 16)))
      (i64.or
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $c))) (i64.const 32))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $d))) (i64.const 48)))))

  ;; Which of the 64 bytes from $at are $byte.
  (func $where (param $at i32) (param $byte i32) (result i64)
    (local $wanted v128)
    (local.set $wanted (i8x16.splat (local.get $byte)))
    (call $bits
      (i8x16.eq (v128.load (local.get $at)) (local.get $wanted))
      (i8x16.eq (v128.load offset=16 (local.get $at)) (local.get $wanted))
      (i8x16.eq (v128.load offset=32 (local.get $at)) (local.get $wanted))
      (i8x16.eq (v128.load offset=48 (local.get $at)) (local.get $wanted))))

  ;; Each bit becomes the parity of itself and those below: from an opening quotation mark up to the closing one.
  (func $parity (param $bits i64) (result i64)
    (local.set $bits (i64.xor (local.get $bits) (i64.shl (local.get $bits) (i64.const 1))))
    (local.set $bits (i64.xor (local.get $bits) (i64.shl (local.get $bits) (i64.const 2))))
    (local.set $bits (i64.xor (local.get $bits) (i64.shl (local.get $bits) (i64.const 4))))
    (local.set $bits (i64.xor (local.get $bits) (i64.shl (local.get $bits) (i64.const 8))))
    (local.set $bits (i64.xor (local.get $bits) (i64.shl (local.get $bits) (i64.const 16))))
    (i64.xor (local.get $bits) (i64.shl (local.get $bits) (i64.const 32))))

  ;; The bits, each one place later; bit 0 is what the byte before the block was.
  (func $behind (param $bits i64) (param $first i64) (result i64)
    (i64.or (i64.shl (local.get $bits) (i64.const 1)) (local.get $first)))

  ;; $bits without $others.
  (func $without (param $bits i64) (param $others i64) (result i64)
    (i64.and (local.get $bits) (i64.xor (local.get $others) (i64.const -1))))

  ;; 1 if a line that begins at one of the bits $starts of the block at $at may repeat the first record: it has the first bytes of
  ;; that, with or without quotation marks, or the piece ends before eight of its bytes.
  (func $mayRepeat (param $at i32) (param $end i32) (param $starts i64) (result i32)
    (local $place i32) (local $bytes i64)
    (loop $next
      (if (i64.ne (local.get $starts) (i64.const 0)) (then
        (local.set $place (i32.add (local.get $at) (i32.wrap_i64 (i64.ctz (local.get $starts)))))
        (if (i32.gt_u (i32.add (local.get $place) (i32.const 8)) (local.get $end)) (then (return (i32.const 1))))
        (local.set $bytes (i64.load (local.get $place)))
        (if (i32.or
          (i64.eq
            (i64.and (local.get $bytes) (i64.load offset=65704 (i32.const 0)))
            (i64.load offset=65696 (i32.const 0)))
          (i64.eq
            (i64.and (local.get $bytes) (i64.load offset=65720 (i32.const 0)))
            (i64.load offset=65712 (i32.const 0)))) (then (return (i32.const 1))))
        (local.set $starts (i64.and (local.get $starts) (i64.sub (local.get $starts) (i64.const 1))))
        (br $next))))
    (i32.const 0))

  ;; Reads whole blocks from $at on, where a carriage return is nothing but a part of a line break. Returns where it stopped.
  (func (export "scanCsv") (param $at i32) (param $end i32) (param $separator i32) (result i32)
    (local $quotes i64) (local $inside i64) (local $lf i64) (local $cr i64) (local $behindCr i64) (local $separators i64)
    (local $openers i64) (local $literal i64) (local $starts i64) (local $empty i64) (local $ends i64) (local $odd i64)
    (local $all i64) (local $content i64) (local $closers i64) (local $behindClosers i64)
    ;; The fields of `Scan` of the same names.
    (local $records i64) (local $irregular i64) (local $width i64) (local $fields i64) (local $blankLines i64)
    (local $lineBreaks i64) (local $quoted i64) (local $opens i64) (local $blank i64) (local $afterCr i64)
    (local $last i64) (local $longer i64) (local $emptyRows i64) (local $filled i64) (local $closed i64) (local $strayQuotes i64) (local $headed i64)
    (local $upTo i64) (local $first i64) (local $may i64)
    (local.set $records (call $take (i32.const 65536)))
    (local.set $irregular (call $take (i32.const 65544)))
    (local.set $width (call $take (i32.const 65552)))
    (local.set $fields (call $take (i32.const 65560)))
    (local.set $blankLines (call $take (i32.const 65568)))
    (local.set $lineBreaks (call $take (i32.const 65576)))
    (local.set $quoted (call $take (i32.const 65584)))
    (local.set $opens (call $take (i32.const 65592)))
    (local.set $blank (call $take (i32.const 65600)))
    (local.set $afterCr (call $take (i32.const 65608)))
    (local.set $last (call $take (i32.const 65640)))
    (local.set $longer (call $take (i32.const 65648)))
    (local.set $emptyRows (call $take (i32.const 65656)))
    (local.set $filled (call $take (i32.const 65664)))
    (local.set $closed (call $take (i32.const 65672)))
    (local.set $strayQuotes (call $take (i32.const 65680)))
    (local.set $headed (call $take (i32.const 65688)))
    (block $stop (loop $block
      (if (i32.gt_u (i32.add (local.get $at) (i32.const 64)) (local.get $end)) (then (br $stop)))

      (local.set $quotes (call $where (local.get $at) (i32.const 0x22)))
      (local.set $all (local.get $quotes))
      (loop $again
        (local.set $inside (i64.sub (i64.const 0) (local.get $quoted)))
        (if (i64.ne (local.get $quotes) (i64.const 0)) (then
          (local.set $inside (i64.xor (local.get $inside) (call $parity (local.get $quotes))))))
        (local.set $lf (call $without (call $where (local.get $at) (i32.const 0x0a)) (local.get $inside)))
        (local.set $separators (call $without (call $where (local.get $at) (local.get $separator)) (local.get $inside)))
        ;; Behind them a quotation mark opens a quoted part.
        (local.set $openers (i64.or (i64.or (local.get $separators) (local.get $lf)) (local.get $quotes)))
        (local.set $literal (call $without
          (i64.and (local.get $quotes) (local.get $inside))
          (call $behind (local.get $openers) (local.get $opens))))
        ;; The first one that opens nothing is a character like others; what follows it has to be seen anew.
        (if (i64.ne (local.get $literal) (i64.const 0)) (then
          (local.set $quotes (i64.xor
            (local.get $quotes)
            (i64.and (local.get $literal) (i64.sub (i64.const 0) (local.get $literal)))))
          (br $again))))
      (local.set $cr (call $without (call $where (local.get $at) (i32.const 0x0d)) (local.get $inside)))
      (local.set $behindCr (call $behind (local.get $cr) (local.get $afterCr)))

      ;; Line feeds of lines without a character: at the start of a line, or behind a carriage return that is there.
      (local.set $starts (call $behind (local.get $lf) (local.get $blank)))
      (local.set $empty (i64.and (local.get $lf) (i64.or
        (local.get $starts)
        (i64.shl (i64.and (local.get $starts) (local.get $cr)) (i64.const 1)))))

      ;; Unusual are: a carriage return alone, the end mark of DOS, and an empty line before the first record.
      (local.set $odd (i64.or
        (call $without (local.get $behindCr) (local.get $lf))
        (call $without (call $where (local.get $at) (i32.const 0x1a)) (local.get $inside))))
      (if (i64.eqz (local.get $records)) (then
        (local.set $odd (i64.or (local.get $odd) (local.get $empty)))))
      (if (i64.ne (local.get $odd) (i64.const 0)) (then (br $stop)))

      ;; A line may repeat the first record where it has the same first byte, or that behind a quotation mark.
      (if (i64.ne (local.get $headed) (i64.const 0)) (then
        (local.set $first (call $where (local.get $at) (i32.load8_u offset=65696 (i32.const 0))))
        (local.set $may (i64.and (local.get $starts) (local.get $first)))
        (if (i64.ne (local.get $all) (i64.const 0)) (then
          (local.set $may (i64.or (local.get $may) (i64.and
            (i64.and (local.get $starts) (local.get $all))
            (i64.or
              (i64.shr_u (call $where (local.get $at) (i32.load8_u offset=65713 (i32.const 0))) (i64.const 1))
              (i64.const 0x8000000000000000)))))))
        (if (i64.ne (local.get $may) (i64.const 0)) (then
          (if (call $mayRepeat (local.get $at) (local.get $end) (local.get $may)) (then (br $stop)))))))

      (local.set $content (i64.or
        (i64.or (local.get $separators) (local.get $lf))
        (i64.or (local.get $cr) (local.get $quotes))))
      ;; Behind a closing mark, another one doubles it, and text has no place in CSV; nor has a mark that opens nothing.
      (local.set $closers (i64.const 0))
      (if (i64.ne (i64.or (local.get $all) (local.get $closed)) (i64.const 0)) (then
        (local.set $closers (call $without (local.get $quotes) (local.get $inside)))
        (local.set $behindClosers (call $behind (local.get $closers) (local.get $closed)))
        (local.set $strayQuotes (i64.add
          (local.get $strayQuotes)
          (i64.add
            (i64.popcnt (i64.xor (local.get $all) (local.get $quotes)))
            (i64.popcnt (call $without (local.get $behindClosers) (local.get $content))))))
        (local.set $content (call $without
          (local.get $content)
          (i64.and (local.get $quotes) (local.get $behindClosers))))))
      (local.set $content (i64.xor (local.get $content) (i64.const -1)))
      (local.set $closed (i64.shr_u (local.get $closers) (i64.const 63)))

      (local.set $ends (call $without (local.get $lf) (local.get $empty)))
      (local.set $lineBreaks (i64.or
        (local.get $lineBreaks)
        (i64.or
          (i64.extend_i32_u
            (i64.ne (call $without (local.get $ends) (local.get $behindCr)) (i64.const 0)))
          (i64.shl
            (i64.extend_i32_u (i64.ne (i64.and (local.get $ends) (local.get $behindCr)) (i64.const 0)))
            (i64.const 1)))))
      (local.set $records (i64.add (local.get $records) (i64.popcnt (local.get $ends))))
      (local.set $blankLines (i64.add (local.get $blankLines) (i64.popcnt (local.get $empty))))
      ;; The fields of the records that end in the block.
      (loop $record
        (if (i64.ne (local.get $ends) (i64.const 0)) (then
          ;; The bits up to the lowest end.
          (local.set $upTo (i64.xor (local.get $ends) (i64.sub (local.get $ends) (i64.const 1))))
          (local.set $fields (i64.add
            (local.get $fields)
            (i64.popcnt (i64.and (local.get $separators) (local.get $upTo)))))
          (if (i64.eqz (local.get $width)) (then (local.set $width (local.get $fields))))
          (if (i64.ne (local.get $fields) (local.get $width)) (then
            (local.set $irregular (i64.add (local.get $irregular) (i64.const 1)))
            (local.set $longer (i64.add
              (local.get $longer)
              (i64.extend_i32_u (i64.gt_u (local.get $fields) (local.get $width)))))))
          (if (i64.eqz (i64.or (local.get $filled) (i64.and (local.get $content) (local.get $upTo)))) (then
            (local.set $emptyRows (i64.add (local.get $emptyRows) (i64.const 1)))))
          (local.set $last (local.get $fields))
          (local.set $fields (i64.const 1))
          (local.set $filled (i64.const 0))
          (local.set $separators (call $without (local.get $separators) (local.get $upTo)))
          (local.set $content (call $without (local.get $content) (local.get $upTo)))
          (local.set $ends (call $without (local.get $ends) (local.get $upTo)))
          (br $record))))
      (local.set $fields (i64.add (local.get $fields) (i64.popcnt (local.get $separators))))
      (local.set $filled (i64.or
        (local.get $filled)
        (i64.extend_i32_u (i64.ne (local.get $content) (i64.const 0)))))

      ;; What the last byte was; a carriage return changes nothing but $afterCr.
      (local.set $quoted (i64.shr_u (local.get $inside) (i64.const 63)))
      (local.set $afterCr (i64.shr_u (local.get $cr) (i64.const 63)))
      (local.set $blank
        (i64.shr_u (i64.shl (local.get $lf) (local.get $afterCr)) (i64.const 63)))
      (local.set $opens
        (i64.shr_u
          (i64.shl (i64.or (local.get $openers) (local.get $inside)) (local.get $afterCr))
          (i64.const 63)))
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br $block)))
    (call $give (i32.const 65536) (local.get $records))
    (call $give (i32.const 65544) (local.get $irregular))
    (call $give (i32.const 65552) (local.get $width))
    (call $give (i32.const 65560) (local.get $fields))
    (call $give (i32.const 65568) (local.get $blankLines))
    (call $give (i32.const 65576) (local.get $lineBreaks))
    (call $give (i32.const 65584) (local.get $quoted))
    (call $give (i32.const 65592) (local.get $opens))
    (call $give (i32.const 65600) (local.get $blank))
    (call $give (i32.const 65608) (local.get $afterCr))
    (call $give (i32.const 65640) (local.get $last))
    (call $give (i32.const 65648) (local.get $longer))
    (call $give (i32.const 65656) (local.get $emptyRows))
    (call $give (i32.const 65664) (local.get $filled))
    (call $give (i32.const 65672) (local.get $closed))
    (call $give (i32.const 65680) (local.get $strayQuotes))
    (local.get $at))

  ;; Which of the 64 bytes from $at, with the bits $set in them, are one of the $count bytes from $low on.
  (func $within (param $at i32) (param $set i32) (param $low i32) (param $count i32) (result i64)
    (local $bits v128) (local $first v128) (local $number v128)
    (local.set $bits (i8x16.splat (local.get $set)))
    (local.set $first (i8x16.splat (local.get $low)))
    (local.set $number (i8x16.splat (local.get $count)))
    (call $bits
      (i8x16.lt_u
        (i8x16.sub (v128.or (v128.load (local.get $at)) (local.get $bits)) (local.get $first))
        (local.get $number))
      (i8x16.lt_u
        (i8x16.sub (v128.or (v128.load offset=16 (local.get $at)) (local.get $bits)) (local.get $first))
        (local.get $number))
      (i8x16.lt_u
        (i8x16.sub (v128.or (v128.load offset=32 (local.get $at)) (local.get $bits)) (local.get $first))
        (local.get $number))
      (i8x16.lt_u
        (i8x16.sub (v128.or (v128.load offset=48 (local.get $at)) (local.get $bits)) (local.get $first))
        (local.get $number))))

  ;; 0xff where windows-1255 defines no character: the low half of the byte has a bit for each high half (8, 9, d, f) with which
  ;; it is undefined.
  (func $undefined (param $bytes v128) (result v128)
    (i8x16.ne
      (v128.and
        (i8x16.swizzle
          (v128.const i8x16 2 1 0 0 0 0 0 0 0 4 7 12 15 7 7 15)
          (v128.and (local.get $bytes) (v128.const i8x16 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15)))
        (i8x16.swizzle
          (v128.const i8x16 0 0 0 0 0 0 0 0 1 2 0 0 0 4 0 8)
          (i8x16.shr_u (local.get $bytes) (i32.const 4))))
      (v128.const i64x2 0 0)))

  (func $takeSigns
    (global.set $highBytes (call $take (i32.const 65616)))
    (global.set $joinedLetters (call $take (i32.const 65624)))
    (global.set $before (call $take (i32.const 65632))))

  (func $giveSigns
    (call $give (i32.const 65616) (global.get $highBytes))
    (call $give (i32.const 65624) (global.get $joinedLetters))
    (call $give (i32.const 65632) (global.get $before)))

  ;; Reads whole blocks from $at on, as long as everything in them may be Hebrew. Returns where it stopped.
  (func (export "lookForHebrew") (param $at i32) (param $end i32) (result i32)
    (local $latin i64) (local $letters i64) (local $marks i64) (local $signs i64) (local $signsBehindLetters i64)
    (local $behindLetterOrMark i64) (local $odd i64)
    (call $takeSigns)
    (loop $block
      (if (i32.gt_u (i32.add (local.get $at) (i32.const 64)) (local.get $end)) (then (call $giveSigns) (return (local.get $at))))

      (local.set $latin (call $within (local.get $at) (i32.const 0x20) (i32.const 0x61) (i32.const 26)))
      (local.set $signs (call $within (local.get $at) (i32.const 0) (i32.const 0x80) (i32.const 0x40)))
      (local.set $marks (call $within (local.get $at) (i32.const 0) (i32.const 0xc0) (i32.const 0x20)))
      (local.set $letters (call $within (local.get $at) (i32.const 0) (i32.const 0xe0) (i32.const 0x1b)))
      (local.set $signsBehindLetters (i64.and
        (local.get $signs)
        (call $behind (local.get $letters) (call $wasBefore (i64.const 2)))))
      (local.set $behindLetterOrMark (call $behind
        (i64.or (local.get $letters) (local.get $marks))
        (i64.or (call $wasBefore (i64.const 2)) (call $wasBefore (i64.const 3)))))

      (local.set $odd (i64.or
        (call $bits
          (call $undefined (v128.load (local.get $at)))
          (call $undefined (v128.load offset=16 (local.get $at)))
          (call $undefined (v128.load offset=32 (local.get $at)))
          (call $undefined (v128.load offset=48 (local.get $at))))
        (i64.and
          (local.get $letters)
          (call $behind (local.get $latin) (call $wasBefore (i64.const 1))))))
      (local.set $odd (i64.or
        (local.get $odd)
        (i64.or
          (call $without (local.get $marks) (local.get $behindLetterOrMark))
          (i64.and
            (local.get $signs)
            (call $behind
              (i64.or (local.get $marks) (local.get $signsBehindLetters))
              (i64.or (call $wasBefore (i64.const 3)) (call $wasBefore (i64.const 4))))))))
      (if (i64.ne (local.get $odd) (i64.const 0)) (then (call $giveSigns) (return (local.get $at))))

      (global.set $highBytes (i64.add
        (global.get $highBytes)
        (i64.popcnt (call $within (local.get $at) (i32.const 0) (i32.const 0x80) (i32.const 0x80)))))
      (global.set $joinedLetters (i64.add
        (global.get $joinedLetters)
        (i64.popcnt (i64.and (local.get $letters) (local.get $behindLetterOrMark)))))
      ;; The kinds of `core/files/hebrew.ts`; no byte has two of them.
      (global.set $before (i64.add
        (i64.add
          (i64.shr_u (local.get $latin) (i64.const 63))
          (i64.mul (i64.shr_u (local.get $letters) (i64.const 63)) (i64.const 2)))
        (i64.add
          (i64.mul (i64.shr_u (local.get $marks) (i64.const 63)) (i64.const 3))
          (i64.mul (i64.shr_u (local.get $signsBehindLetters) (i64.const 63)) (i64.const 4)))))
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br $block))
    (unreachable))

  ;; Makes one byte of each number of 16 bits from 0 to $end: of those that are not ASCII the low seven bits, and 0x80.
  (func (export "narrow") (param $end i32) (param $bigEndian i32)
    (local $at i32)
    (loop $next
      (if (i32.lt_u (local.get $at) (local.get $end)) (then
        (v128.store
          (i32.shr_u (local.get $at) (i32.const 1))
          (i8x16.narrow_i16x8_u
            (call $units (local.get $at) (local.get $bigEndian))
            (call $units (i32.add (local.get $at) (i32.const 16)) (local.get $bigEndian))))
        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (br $next)))))

  (func $units (param $at i32) (param $bigEndian i32) (result v128)
    (local $units v128)
    (local.set $units (v128.load (local.get $at)))
    (if (local.get $bigEndian) (then
      (local.set $units (v128.or
        (i16x8.shl (local.get $units) (i32.const 8))
        (i16x8.shr_u (local.get $units) (i32.const 8))))))
    (v128.or
      (v128.and (local.get $units) (v128.const i16x8 127 127 127 127 127 127 127 127))
      (v128.and
        (i16x8.gt_u (local.get $units) (v128.const i16x8 127 127 127 127 127 127 127 127))
        (v128.const i16x8 128 128 128 128 128 128 128 128))))

  ;; 1 if the byte before the block was of this kind.
  (func $wasBefore (param $kind i64) (result i64)
    (i64.extend_i32_u (i64.eq (global.get $before) (local.get $kind)))))
