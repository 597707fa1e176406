import { expect, test } from 'vitest';
import { Blocks } from '../../transfer/source/blocks.ts';

const BLOCK = 128 * 1024;

function filled(blocks: Blocks, bytes = BLOCK) {
  const block = blocks.next();
  block.fill(Buffer.alloc(bytes));
  return block;
}

test('reuses a block only when it was full and each of its bytes is released', () => {
  const blocks = new Blocks();
  const block = filled(blocks);
  const all = block.take();

  blocks.release(all.subarray(0, 1000));
  const second = blocks.next();
  blocks.release(all.subarray(1001));
  const third = blocks.next();
  blocks.release(all.subarray(1000, 1001));
  const fourth = blocks.next();

  expect([second, third].includes(block)).toBe(false);
  expect(fourth).toBe(block);
  expect([fourth.filled, fourth.taken, fourth.released]).toEqual([0, 0, 0]);
});

test('does not reuse a block that was never full, because its connection may continue to fill it', () => {
  const blocks = new Blocks();
  const block = filled(blocks, BLOCK - 1);

  blocks.release(block.take());

  expect(blocks.next()).not.toBe(block);
});
