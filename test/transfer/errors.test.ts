import { expect, test } from 'vitest';
import { RetryableError, StartOver, TimeIsUp, TransferError } from '../../transfer/base/transfer-errors.ts';

test.each([
  ['TransferError', new TransferError('stalled', 'Slow.')],
  ['RetryableError', new RetryableError('stalled', 'Slow.')],
  ['StartOver', new StartOver('Changed.')],
  ['TimeIsUp', new TimeIsUp('Over.')],
])('an error of the engine has the name %s, for the log of a crash', (name, error) => {
  expect(error.name).toBe(name);
});
