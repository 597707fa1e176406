import { expect, it } from 'vitest';
import { costOfRuns, type Usage } from '../../bench/night-cost.ts';
import { ENTITIES } from '../../core/config/entities.ts';

const nothing: Usage = {
  transitions: 0,
  invocations: 0,
  gbSeconds: 0,
  crmRequests: 0,
  fileRequests: 0,
  storeRequests: 0,
  bytes: 0,
  logBytes: 0,
};
const dollarsOf = (usage: Partial<Usage>, what: string) =>
  costOfRuns(ENTITIES.map(() => ({ ...nothing, ...usage }))).find((line) => line.what === what)?.dollars;

it('multiplies the usage of seven runs by 30.4 nights and by the price of each unit', () => {
  expect(dollarsOf({ transitions: 1000 }, 'Step Functions')).toBeCloseTo(7 * 0.025 * 30.4);
  expect(dollarsOf({ gbSeconds: 10, invocations: 1e6 }, 'Lambda')).toBeCloseTo(7 * (10 * 0.0000133334 + 0.2) * 30.4);
  expect(dollarsOf({ storeRequests: 1000 }, 'S3')).toBeCloseTo(7 * 0.005 * 30.4);
});
