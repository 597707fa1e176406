import { expect, test } from 'vitest';
import { throughput } from '../../../core/step/throughput.ts';

const MIB = 1024 * 1024;

test('a pass that uses its whole CPU share is bound by the CPU, any other by the network', () => {
  const share = 512 / 1769;

  const busy = throughput(500 * MIB, { milliseconds: 10_000, cpuMilliseconds: 10_000 * share }, 512);
  const idle = throughput(500 * MIB, { milliseconds: 10_000, cpuMilliseconds: 8_000 * share }, 512);

  expect(busy).toEqual({ mebibytesPerSecond: 50, cpuUsed: 1, boundBy: 'cpu', memoryMB: 512 });
  expect(idle).toEqual({ mebibytesPerSecond: 50, cpuUsed: 0.8, boundBy: 'network', memoryMB: 512 });
});

test('one process uses at most one core', () => {
  const found = throughput(MIB, { milliseconds: 1000, cpuMilliseconds: 950 }, 3538);

  expect(found).toMatchObject({ cpuUsed: 0.95, boundBy: 'cpu' });
});

test.each([
  ['no bytes', 0, 1000],
  ['a clock that stood still', MIB, 0],
  ['a clock that was set back', MIB, -5],
])('throughput returns no values for %s', (_, bytes, milliseconds) => {
  expect(throughput(bytes, { milliseconds, cpuMilliseconds: 1 }, 512)).toEqual({});
});
