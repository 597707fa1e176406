import { expect, test } from 'vitest';
import { checkFileUrl } from '../../../../lambdas/shared/files/file-url.ts';
import { CANARY } from '../../../support/builders.ts';

test('https is accepted, with its query as it is', () => {
  const address = 'https://files.test/a%20b.csv?X-Amz-Signature=abc%2Fd&x=';

  expect(checkFileUrl(address, false).href).toBe(address);
});

test('http is accepted where the deployment is local, and nowhere else', () => {
  expect(checkFileUrl('http://127.0.0.1:8080/x', true).port).toBe('8080');
  expect(() => checkFileUrl('http://127.0.0.1:8080/x', false)).toThrow('begins with http: instead of https:');
});

test('a redirect may be relative', () => {
  expect(checkFileUrl('/other?y', true, new URL('http://a.test/x')).href).toBe('http://a.test/other?y');
});

test('a redirect from https to http is refused', () => {
  expect(() => checkFileUrl('http://a.test/x', false, new URL('https://a.test/x'))).toThrow('begins with http:');
});

test.each([
  ['a user name', `https://${CANARY}@files.test/x`],
  ['a password', `https://:${CANARY}@files.test/x`],
  ['a file', `file:///etc/${CANARY}`],
  ['data', `data:text/csv,${CANARY}`],
  ['no address', `//[${CANARY}`],
])('%s is refused in local deployments too, and never quoted', (_, address) => {
  const attempt = () => checkFileUrl(address, true, new URL('https://files.test/'));

  expect(attempt).toThrow(expect.objectContaining({ name: 'DownloadUrlRejected' }));
  expect(attempt).not.toThrow(CANARY);
});
