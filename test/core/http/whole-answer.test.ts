import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import ky from 'ky';
import { expect, onTestFinished, test } from 'vitest';
import { UnreadableBody, wholeAnswer } from '../../../core/http/whole-answer.ts';
import { CANARY } from '../../support/builders.ts';
import { cutOff, hangUp, type Reply, serverFor } from '../../support/http-server.ts';

const GENEROUS = { milliseconds: 20_000, bytes: 1000 };

async function answerTo(reply: Reply, limits = GENEROUS) {
  const { url } = await serverFor(['GET /', reply]);
  const options = { timeout: false, retry: 0, throwHttpErrors: false } as const;
  return wholeAnswer((signal) => ky.get(url, { ...options, signal }), limits);
}

/** Sends the status and the beginning of a body, then nothing more. `closed` resolves when the client disconnects. */
function silence(begin: string) {
  const opened = Promise.withResolvers<ServerResponse>();
  const reply: Reply = (response) => {
    response.writeHead(200).write(begin);
    opened.resolve(response);
  };
  return { reply, closed: opened.promise.then((response) => once(response, 'close')) };
}

/**
 * Runs the garbage collector repeatedly until the test ends, three times before a limit of 1.5 s, so that unreferenced
 * objects are gone.
 */
function forceCollections(): void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const timer = setInterval(collect, 400);
  onTestFinished(() => clearInterval(timer));
}

// Together, because each collection takes a tenth of a second.
test('stops at the time limit if the body stalls or no answer comes, even if the garbage collector runs', async () => {
  const limits = { milliseconds: 1500, bytes: 1000 };
  const stalls = async (begin: string) => {
    const { reply, closed } = silence(begin);
    const answer = await answerTo(reply, limits);
    expect(answer).toMatchObject({ status: 200, ok: true });
    expect(answer.body).toMatchObject({ message: '200, but the answer did not end in time' });
    await closed;
  };
  const neverAnswers = async () => {
    const error = expect.objectContaining({ name: 'TimeoutError' });
    await expect(answerTo(() => undefined, limits)).rejects.toThrow(error);
  };
  forceCollections();

  await Promise.all([stalls(''), stalls('{"id":'), neverAnswers()]);
});

test('a body that is cut off keeps the part that came, which no log of the error shows', async () => {
  const { body } = await answerTo(cutOff(200, {}, CANARY));

  if (!(body instanceof UnreadableBody)) throw new Error('the body was read');
  expect(body.received).toBe(CANARY);
  expect(inspect(body, { showHidden: true, depth: 9 }) + JSON.stringify(body)).not.toContain(CANARY);
});

test('returns status, headers, and the body without its byte order mark', async () => {
  const answer = await answerTo({ status: 422, headers: { 'retry-after': '7' }, text: '\ufeffשלום' });

  expect(answer).toMatchObject({ status: 422, ok: false });
  expect(answer.headers.get('retry-after')).toBe('7');
  expect(answer.body).toBe('שלום');
});

test('keeps the status of an answer whose body breaks off', async () => {
  const answer = await answerTo(cutOff(500, {}, 'half'));

  expect(answer.status).toBe(500);
  expect(answer.body).toMatchObject({ message: '500, but the answer broke off in the middle' });
});

test('rethrows the network error when the connection closes without an answer', async () => {
  await expect(answerTo(hangUp)).rejects.toThrow('network error');
});

test('stops reading and closes the connection when a body exceeds the byte limit', async () => {
  let sent = 0;
  const opened = Promise.withResolvers<ServerResponse>();
  const endless: Reply = (response) => {
    opened.resolve(response);
    const more = () => {
      sent += 65_536;
      if (!response.closed) response.write(Buffer.alloc(65_536), more);
    };
    more();
  };
  const closed = opened.promise.then((response) => once(response, 'close'));

  expect(await answerTo(endless)).toMatchObject({ body: { message: '200, but with more than 1000 bytes' } });

  await closed;
  expect(sent).toBeLessThan(50_000_000);
});

test('applies the byte limit to the decompressed body', async () => {
  const packed = { headers: { 'content-encoding': 'gzip' }, text: gzipSync(Buffer.alloc(100_000)) };

  expect(await answerTo(packed)).toMatchObject({ body: { message: expect.stringContaining('more than 1000 bytes') } });
});
