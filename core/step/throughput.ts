import type { LogFields } from '../log/log-fields.ts';

/**
 * A Lambda function with this much memory has a whole core, MB:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
 */
const WHOLE_CORE_MB = 1769;
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
