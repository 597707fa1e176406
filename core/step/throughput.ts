import type { LogFields } from '../log/log-fields.ts';
import { WHOLE_CORE_MB } from '../whole-core.ts';

/** A pass that uses at least this share of its CPU is limited by the CPU, not by the network. */
const BUSY = 0.9;
const MIB = 1024 * 1024;

/** The speed of a pass, and whether CPU or network limited it; empty if no time has passed. */
export function throughput(
  bytes: number,
  { milliseconds, cpuMilliseconds }: { milliseconds: number; cpuMilliseconds: number },
  memoryMB: number,
): LogFields {
  // A clock may have been set back.
  if (bytes <= 0 || milliseconds <= 0) return {};
  const cpuUsed = cpuMilliseconds / milliseconds / Math.min(1, memoryMB / WHOLE_CORE_MB);
  return {
    mebibytesPerSecond: Number((bytes / MIB / (milliseconds / 1000)).toFixed(1)),
    cpuUsed: Number(cpuUsed.toFixed(2)),
    boundBy: cpuUsed >= BUSY ? 'cpu' : 'network',
    memoryMB,
  };
}
