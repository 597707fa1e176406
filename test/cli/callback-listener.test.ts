import { createServer, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { type CallbackListener, listenForCallback } from '../../cli/callback-listener.ts';
import { CommandError } from '../../cli/exit.ts';
import { freePort } from '../../local/ports.ts';

async function listener(options: Parameters<typeof listenForCallback>[1] = {}): Promise<CallbackListener> {
  const listening = await listenForCallback('the-state', options);
  onTestFinished(listening.close);
  return listening;
}

async function come(to: CallbackListener, query: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(`${to.redirectUri}${query}`, init);
  return `${response.status} ${/<h1>(.*)<\/h1>/.exec(await response.text())?.[1]}`;
}

const endOf = (promise: Promise<unknown>) => promise.then(String, (error: unknown) => error);

test('the code arrives at an address of this machine only', async () => {
  const waiting = await listener();
  expect(waiting.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  expect(await come(waiting, '?code=the%2Bcode&state=the-state')).toMatch(/^200 Authorized\./);
  expect(await waiting.code).toBe('the+code');
});

test('what does not belong to this authorization is refused, and it goes on waiting', async () => {
  const waiting = await listener();
  expect(await come(waiting, '?code=stolen&state=another')).toMatch(/^400 .*still waits/);
  expect(await come(waiting, '?error=access_denied')).toMatch(/^400 .*still waits/);
  expect(await come(waiting, '?state=the-state')).toMatch(/^400 The answer holds no code/);
  expect(await come(waiting, '/other?code=1&state=the-state')).toMatch(/^404/);
  expect(await come(waiting, '?code=1&state=the-state', { method: 'POST' })).toMatch(/^404/);
  expect(await come(waiting, '?code=right&state=the-state')).toMatch(/^200/);
  expect(await waiting.code).toBe('right');
});

test('an address that cannot be read does not end the command', async () => {
  const waiting = await listener();
  const { port } = new URL(waiting.redirectUri);
  const status = await new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path: '//' }, (response) => resolve(response.statusCode))
      .on('error', reject)
      .end();
  });
  expect(status).toBe(404);
  expect(await come(waiting, '?code=right&state=the-state')).toMatch(/^200/);
});

test('a refusal is told in the words of the service, without what a terminal would obey', async () => {
  const waiting = await listener();
  const description = encodeURIComponent('\u001b[2Jno\u0007 \u202eway\r\n<script>');
  expect(await come(waiting, `?error=access_denied&error_description=${description}&state=the-state`)).toBe(
    '200 The service refused. The command says more; this window can be closed.',
  );
  const error = await endOf(waiting.code);
  expect(error).toEqual(new CommandError('The service refused the authorization: access_denied [2Jno way<script>.', 1));
});

test('a very long refusal is cut', async () => {
  const waiting = await listener();
  await come(waiting, `?error=${'x'.repeat(5000)}&state=the-state`);
  expect(String(await endOf(waiting.code)).length).toBeLessThan(300);
});

test('when nobody comes the wait ends', async () => {
  const waiting = await listener({ seconds: 0.05 });
  expect(await endOf(waiting.code)).toMatchObject({
    message: 'Nobody came back from the service within 0.05 seconds.',
    exitCode: 1,
  });
});

test('an interruption ends the wait, also one that came before it began', async () => {
  const interrupt = new AbortController();
  const waiting = await listener({ signal: interrupt.signal });
  interrupt.abort(new Error('enough'));
  expect(await endOf(waiting.code)).toEqual(new Error('enough'));
  await expect(listener({ signal: interrupt.signal })).rejects.toThrow('enough');
});

test('a port that is taken is a matter of the environment', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void other.close());
  const error = await endOf(listener({ port }));
  expect(error).toMatchObject({ exitCode: 3, message: expect.stringMatching(/^The port \d+ on 127.* --port\.$/) });
});

test('a closed listener answers nobody', async () => {
  const waiting = await listener();
  waiting.close();
  await expect(fetch(waiting.redirectUri)).rejects.toThrow();
});
