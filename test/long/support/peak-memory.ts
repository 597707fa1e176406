import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/**
 * Loaded into a process by `--import`: at its end, writes its peak memory in MB to the file that the environment names.
 */
process.on('exit', () => {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? process.resourceUsage().maxRSS);
  writeFileSync(process.env.PEAK_MEMORY_FILE ?? '', String(kilobytes / 1024));
});
