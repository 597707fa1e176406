import { expect, test } from 'vitest';
import { addressOf } from '../../transfer/store/store.ts';

const bucket = 'exports';
const key = "runs/entity=leads/it's.csv";

test.each([
  ['eu-west-1', 'amazonaws.com'],
  ['cn-north-1', 'amazonaws.com.cn'],
  ['eusc-de-east-1', 'amazonaws.eu'],
])('in %s uses a host that ends in %s', (region, urlSuffix) => {
  expect(addressOf({ bucket, region, urlSuffix }, key).href).toBe(
    `https://exports.s3.${region}.${urlSuffix}/runs/entity%3Dleads/it%27s.csv`,
  );
});

test('puts the bucket into the path for another endpoint', () => {
  const place = { bucket, region: 'eu-west-1', urlSuffix: 'amazonaws.com', endpoint: 'http://127.0.0.1:9000/' };

  expect(addressOf(place, key).href).toBe('http://127.0.0.1:9000/exports/runs/entity%3Dleads/it%27s.csv');
});
