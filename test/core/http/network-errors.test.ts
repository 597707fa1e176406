import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { codeOf, neverSent } from '../../../core/http/network-errors.ts';
import { DEAD_ADDRESS } from '../../support/http-server.ts';
import { portOf } from '../../support/loopback.ts';

const error = (fields: object) => Object.assign(new Error(), fields);
/** The error that fetch throws: the connection's error is its cause. */
const fetchFailed = (cause: Error) => new TypeError('fetch failed', { cause });
/** The error that Node throws for a host with several addresses. */
const ofAll = (...errors: Error[]) => fetchFailed(Object.assign(new AggregateError(errors), { code: 'ETIMEDOUT' }));

const silent = error({ code: 'ETIMEDOUT', syscall: 'connect' });
const unreachable = error({ code: 'ENETUNREACH', syscall: 'connect' });

test.each([
  ['no address of the host can be reached', ofAll(silent, unreachable)],
  ['the only address of the host times out', fetchFailed(silent)],
  ['the host name cannot be resolved', fetchFailed(error({ code: 'EAI_AGAIN', syscall: 'getaddrinfo' }))],
  ['the host name is unknown', fetchFailed(error({ code: 'ENOTFOUND', syscall: 'getaddrinfo' }))],
  ['the client gives up connecting', fetchFailed(error({ code: 'UND_ERR_CONNECT_TIMEOUT' }))],
  ['the certificate is not valid yet', fetchFailed(error({ code: 'CERT_NOT_YET_VALID' }))],
  ['the first certificate cannot be verified', fetchFailed(error({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }))],
  ['the certificate is for another host', fetchFailed(error({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }))],
  ['client and server share no cipher', fetchFailed(error({ code: 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE' }))],
])('neverSent is true when %s', (_, thrown) => {
  expect(neverSent(thrown)).toBe(true);
});

test.each([
  ['a read times out', fetchFailed(error({ code: 'ETIMEDOUT', syscall: 'read' }))],
  ['a connection is reset', fetchFailed(error({ code: 'ECONNRESET', syscall: 'read' }))],
  ['a read finds no way to the host', fetchFailed(error({ code: 'EHOSTUNREACH', syscall: 'read' }))],
  ['one of several addresses is reset', ofAll(silent, error({ code: 'ECONNRESET', syscall: 'read' }))],
  ['a TLS record is corrupt', fetchFailed(error({ code: 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC' }))],
  ['the server asks for a certificate', fetchFailed(error({ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }))],
  ['an AggregateError contains no error', fetchFailed(new AggregateError([]))],
  ['the request times out', new DOMException('', 'TimeoutError')],
  ['the thrown value is not an error', 'a word'],
])('neverSent is false when %s', (_, thrown) => {
  expect(neverSent(thrown)).toBe(false);
});

/** Closes every connection after sending these bytes. */
async function saying(bytes: number[]): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(Buffer.from(bytes)));
  });
  return `https://127.0.0.1:${await portOf(server)}`;
}

const alert = (description: number) => [0x15, 3, 1, 0, 2, 2, description];
test.each([
  ['a server without TLS', () => saying([...Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')])],
  ['a server with another version of TLS', () => saying(alert(70))],
  ['a server that fails the TLS handshake', () => saying(alert(40))],
  ['a closed port on all addresses of the host', async () => DEAD_ADDRESS.replace('127.0.0.1', 'localhost')],
])('neverSent is true for %s', async (_, address) => {
  const thrown = await fetch(await address(), { method: 'POST', body: 'x' }).catch((failure: unknown) => failure);

  expect([codeOf(thrown), neverSent(thrown)]).toEqual([expect.any(String), true]);
});
