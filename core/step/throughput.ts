import type { LogFields } from '../log/log-fields.ts';
import { WHOLE_CORE_MB } from '../whole-core.ts';

/** Who uses so much of the CPU that is given does not wait for the network. */
const BUSY = 0.9;
const MIB = 1024 * 1024;

/** What a pass over bytes took: all its time, and that of the CPU. */
export interface PassTime {
  milliseconds: number;
  cpuMilliseconds: number;
}

/** How fast a pass was, and whether its share of a CPU or the network was the limit; nothing where no time has passed. */
export function throughput(bytes: number, { milliseconds, cpuMilliseconds }: PassTime, memoryMB: number): LogFields {
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
