import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import ky from 'ky';
import { expect, onTestFinished, test, vi } from 'vitest';
import { UnreadableBody, wholeAnswer } from '../../../core/http/whole-answer.ts';
import { CANARY } from '../../support/builders.ts';
import { cutOff, hangUp, type Reply, serverFor } from '../../support/http-server.ts';
import { expectTexts } from '../../support/screen.ts';

const GENEROUS = { milliseconds: 20_000, bytes: 1000 };

/** @param onStatus called when the status and the headers have arrived */
async function answerTo(reply: Reply, limits = GENEROUS, onStatus: () => void = () => undefined) {
  const { url } = await serverFor(['GET /', reply]);
  const options = { timeout: false, retry: 0, throwHttpErrors: false } as const;
  return wholeAnswer(async (signal) => {
    const response = await ky.get(url, { ...options, signal });
    onStatus();
    return response;
  }, limits);
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

/** Runs the garbage collector several times, so that unreferenced objects are gone. */
async function forceCollections(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (let times = 0; times < 3; times += 1) {
    collect();
    await turn();
  }
}

// Together, because each collection takes a tenth of a second.
test('stops at the time limit if the body stalls or no answer comes, even if the garbage collector runs', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const silences = ['', '{"id":'].map(silence);
  const begun = silences.map(() => Promise.withResolvers<void>());
  const stalled = silences.map(({ reply }, at) => answerTo(reply, GENEROUS, begun[at]?.resolve));
  const asked = Promise.withResolvers<void>();
  const unanswered = answerTo(() => asked.resolve(), GENEROUS).catch((error: unknown) => error);
  await Promise.all([...begun.map(({ promise }) => promise), asked.promise]);

  await forceCollections();
  vi.advanceTimersByTime(GENEROUS.milliseconds);

  expect(await unanswered).toMatchObject({ name: 'TimeoutError' });
  for (const answer of await Promise.all(stalled)) {
    expect(answer).toMatchObject({ status: 200, ok: true });
    expect(answer.body).toBeInstanceOf(UnreadableBody);
  }
  await Promise.all(silences.map(({ closed }) => closed));
});

test('an answer whose body is cut off keeps its status and the part that came, which no log of the error shows', async () => {
  const { status, body } = await answerTo(cutOff(500, {}, CANARY));

  if (!(body instanceof UnreadableBody)) throw new Error('the body was read');
  expect(status).toBe(500);
  expect(body.received).toBe(CANARY);
  expect(inspect(body, { showHidden: true, depth: 9 }) + JSON.stringify(body)).not.toContain(CANARY);
});

test('returns status, headers, and the body without its byte order mark', async () => {
  const answer = await answerTo({ status: 422, headers: { 'retry-after': '7' }, text: '\ufeffשלום' });

  expect(answer).toMatchObject({ status: 422, ok: false });
  expect(answer.headers.get('retry-after')).toBe('7');
  expect(answer.body).toBe('שלום');
});

const HEBREW = { windows1255: Buffer.from('"\xf9\xec\xe5\xed"', 'latin1'), utf16: Buffer.from('"שלום"', 'utf16le') };

test.each<[charset: string, Uint8Array]>([
  ['windows-1255', HEBREW.windows1255],
  ['"ISO-8859-8-I"', HEBREW.windows1255],
  ['iso-8859-8', HEBREW.windows1255],
  ['UTF-16', Buffer.concat([Buffer.from([0xff, 0xfe]), HEBREW.utf16])],
  ['utf-16le', HEBREW.utf16],
  ['utf-16be', Buffer.from(HEBREW.utf16).swap16()],
  ['utf-8', Buffer.from('"שלום"')],
  // Java declares this by default, also for UTF-8.
  ['ISO-8859-1', Buffer.from('"שלום"')],
  ['none-such', Buffer.from('"שלום"')],
])('reads a body in the declared character set %s, but UTF-8 as UTF-8', async (charset, text) => {
  const answer = await answerTo({ headers: { 'content-type': `application/json;charset=${charset}` }, text });

  expect(answer.body).toBe('"שלום"');
});

test.each(['application/json', 'application/json; charset=none-such'])(
  'other bytes of type %s become replacement characters',
  async (type) => {
    const { body } = await answerTo({ headers: { 'content-type': type }, text: HEBREW.windows1255 });

    expect(body).toBe(`"${'\ufffd'.repeat(4)}"`);
  },
);

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

  const { body } = await answerTo(endless);
  expect(body).toBeInstanceOf(UnreadableBody);
  await expectTexts('answer-too-long', [['an answer without an end', (body as UnreadableBody).message]]);

  await closed;
  expect(sent).toBeLessThan(50_000_000);
});

test('applies the byte limit to the decompressed body', async () => {
  const packed = { headers: { 'content-encoding': 'gzip' }, text: gzipSync(Buffer.alloc(100_000)) };

  expect(await answerTo(packed)).toMatchObject({ body: { message: expect.stringContaining('more than 1000 bytes') } });
});
