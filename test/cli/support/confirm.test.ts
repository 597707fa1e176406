import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { confirm } from '../../../cli/support/confirm.ts';

async function answered(text: string): Promise<{ said: string; yes: boolean }> {
  const stream = new PassThrough();
  let said = '';
  const print = (words: string) => {
    said += words;
  };
  stream.end(text);
  return { yes: await confirm({ stream, print }, 'Send?'), said };
}

test.for(['y\n', 'Y\n', 'yes\n', ' YES \n', 'y'])('%j confirms', async (text) => {
  expect(await answered(text)).toEqual({ yes: true, said: 'Send? [y/N] ' });
});

test.for(['\n', 'n\n', 'no\n', 'yesterday\n', '1\n', '', 'x\ny\n'])('%j does not confirm', async (text) => {
  expect((await answered(text)).yes).toBe(false);
});
