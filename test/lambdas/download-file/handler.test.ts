import { expect, test, vi } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { storeFromEnv } from '../../../lambdas/download-file/handler.ts';
import { deployment } from '../../support/builders.ts';

const ENV = { BUCKET_NAME: 'exports', AWS_REGION: 'eu-west-1', URL_SUFFIX: 'amazonaws.com' };
const addresses = { baseUrl: 'https://a.test/api/v1', authUrl: 'https://a.test' };
const onAws = () => deployment({ local: false, crm: addresses });
const configInvalid = (message: RegExp) =>
  expect.toSatisfy(
    (error) => error instanceof RunError && error.name === 'ConfigInvalid' && message.test(error.message),
  );

test('on AWS addresses the bucket by name, with a checksum of each object', () => {
  expect(storeFromEnv(ENV, onAws())).toEqual({
    bucket: 'exports',
    region: 'eu-west-1',
    urlSuffix: 'amazonaws.com',
    endpoint: undefined,
    credentials: expect.any(Function),
    objectChecksum: true,
  });
});

test('in the local cloud uses its endpoint, without the object checksum', () => {
  const store = storeFromEnv({ ...ENV, AWS_ENDPOINT_URL: 'http://127.0.0.1:4566' }, deployment());

  expect(store).toMatchObject({ endpoint: 'http://127.0.0.1:4566', objectChecksum: false });
});

test('prefers the endpoint for S3 to the one for all of AWS', () => {
  const endpoints = { AWS_ENDPOINT_URL: 'https://all.test', AWS_ENDPOINT_URL_S3: 'https://s3.test' };

  expect(storeFromEnv({ ...ENV, ...endpoints }, onAws()).endpoint).toBe('https://s3.test');
});

test.each(['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_S3'])('refuses an http address in %s on AWS', (name) => {
  const env = { ...ENV, [name]: 'http://store.test' };

  expect(() => storeFromEnv(env, onAws())).toThrow(configInvalid(/https/));
});

test.each(['BUCKET_NAME', 'AWS_REGION', 'URL_SUFFIX'])('throws ConfigInvalid if %s is missing', (name) => {
  expect(() => storeFromEnv({ ...ENV, [name]: undefined }, onAws())).toThrow(configInvalid(new RegExp(name)));
});

test('reads the credentials from the environment on each call, because Lambda renews them', async () => {
  const { credentials } = storeFromEnv(ENV, onAws());
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_SESSION_TOKEN', 'session');

  expect(await credentials()).toEqual({ accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'session' });
  vi.unstubAllEnvs();
});
