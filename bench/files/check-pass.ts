import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { TEXTS } from '../check/texts.ts';
import type { Found } from '../support/kit.ts';
import { atLeast, atMost } from '../support/targets.ts';
import { type Bench, MIB, rowOf } from './bench.ts';
import { limitCpu } from './cgroup.ts';
import { type Client, check, checksum } from './clients.ts';
import { NETWORK, SMALLEST } from './limits.ts';
import { interleaved, type Result } from './rounds.ts';

const FILE = 'check.csv';
const PIECE_BYTES = 16 * MIB;

/** T13: the pass of PublishFile over an object, by TLS from an S3 on loopback, with the CPU of 512 MB, beside `curl | cksum`. */
export async function checkPass(bench: Bench): Promise<Found> {
  const mib = bench.sizes.large;
  const bytes = writeText(bench, mib * MIB);
  const clients: Client[] = [
    check(bench.servers, bench.bundles.check, { key: FILE, bytes }),
    checksum(bench.servers, FILE),
  ];
  const limit = limitCpu(SMALLEST.share);
  try {
    // The engine moves no bytes in this experiment.
    const options = { rounds: bench.rounds.small, bytes: 0, limit, print: bench.print };
    const [ours, floor] = (await interleaved(bench.servers, clients, options)) as [Result, Result];
    const targets = [
      atLeast('T13 check, MiB/s with the CPU of 512 MB', NETWORK, mib / ours.seconds),
      atMost('T13 check, CPU / curl|cksum', 2, ours.cpuSeconds / floor.cpuSeconds),
    ];
    return { targets, runs: [ours, floor].map((result) => rowOf('check, CPU of 512 MB', mib, result)) };
  } finally {
    limit.remove();
  }
}

/** Writes a table of short Hebrew fields at the origin; returns its size, a little less than that. */
function writeText({ servers }: Bench, most: number): number {
  const text = TEXTS.find(({ id }) => id === 'hebrew');
  const piece = text?.bytes(PIECE_BYTES) ?? Buffer.alloc(0);
  const file = openSync(join(servers.dir, 'files', 'bench', FILE), 'w');
  let bytes = 0;
  while (bytes + piece.length <= most) bytes += writeSync(file, piece);
  closeSync(file);
  return bytes;
}
