import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { codeOf, neverSent } from '../../../core/http/network-errors.ts';
import { deadAddress } from '../../support/http-server.ts';

const error = (fields: object) => Object.assign(new Error(), fields);
/** The error that fetch throws: the connection's error is its cause. */
const fetchFailed = (cause: Error) => new TypeError('fetch failed', { cause });
/** The error that Node throws for a host with several addresses. */
const ofAll = (...errors: Error[]) => fetchFailed(Object.assign(new AggregateError(errors), { code: 'ETIMEDOUT' }));

const silent = error({ code: 'ETIMEDOUT', syscall: 'connect' });
const unreachable = error({ code: 'ENETUNREACH', syscall: 'connect' });

test.each([
  ['no address of a host could be connected to', ofAll(silent, unreachable)],
  ['its only address could not be connected to', fetchFailed(silent)],
  ['the name was not resolved at all', fetchFailed(error({ code: 'EAI_AGAIN', syscall: 'getaddrinfo' }))],
  ['the certificate is not valid yet', fetchFailed(error({ code: 'CERT_NOT_YET_VALID' }))],
  ['the issuer is unknown', fetchFailed(error({ code: 'UNABLE_TO_GET_ISSUER_CERT' }))],
  ['no cipher is shared', fetchFailed(error({ code: 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE' }))],
])('where %s, nothing was sent', (_, thrown) => {
  expect(neverSent(thrown)).toBe(true);
});

test.each([
  ['a connection fell silent', fetchFailed(error({ code: 'ETIMEDOUT', syscall: 'read' }))],
  ['a connection was reset', fetchFailed(error({ code: 'ECONNRESET', syscall: 'read' }))],
  ['one of several connections was made and reset', ofAll(silent, error({ code: 'ECONNRESET', syscall: 'read' }))],
  ['a record of TLS is broken', fetchFailed(error({ code: 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC' }))],
  ['several errors are reported without one', fetchFailed(new AggregateError([]))],
  ['the time ran out', new DOMException('', 'TimeoutError')],
  ['nobody knows', 'a word'],
])('where %s, the request may have arrived', (_, thrown) => {
  expect(neverSent(thrown)).toBe(false);
});

/** Closes every connection after sending these bytes. */
async function saying(bytes: number[]): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(Buffer.from(bytes)));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

const alert = (description: number) => [0x15, 3, 1, 0, 2, 2, description];
test.each([
  ['a server that speaks no TLS', () => saying([...Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')])],
  ['a server that speaks another version of TLS', () => saying(alert(70))],
  ['a server that cannot agree', () => saying(alert(40))],
  [
    'a port where nobody listens, on all addresses',
    async () => (await deadAddress()).replace('127.0.0.1', 'localhost'),
  ],
])('%s has not seen the request', async (_, address) => {
  const thrown = await fetch(await address(), { method: 'POST', body: 'x' }).catch((failure: unknown) => failure);

  expect([codeOf(thrown), neverSent(thrown)]).toEqual([expect.any(String), true]);
});
