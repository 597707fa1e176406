import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as z from 'zod';

const WITHIN_MS = 120_000;
const run = promisify(execFile);
const SERIOUS = ['high', 'critical'];
const reportSchema = z.object({
  vulnerabilities: z.record(z.string(), z.object({ severity: z.string(), range: z.string().optional() })),
});
const refusalSchema = z.object({ message: z.string() });

/** Advisories of high or critical severity against packages of the lockfile; `refused` when the registry does not answer. */
export type Audit = { problems: string[] } | { refused: string };

export async function auditPackages(): Promise<Audit> {
  const args = ['audit', '--json', '--package-lock-only', '--audit-level', 'high'];
  // npm ends with a code other than 0 both for findings and for a failed request.
  const { stdout } = await run('npm', args, { timeout: WITHIN_MS, maxBuffer: 64 * 1024 * 1024 }).catch(
    (error: { stdout?: string; message: string }) => ({
      stdout: error.stdout || JSON.stringify({ message: error.message }),
    }),
  );
  return readAudit(stdout);
}

export function readAudit(text: string): Audit {
  const answer: unknown = JSON.parse(text);
  const report = reportSchema.safeParse(answer);
  if (!report.success) return { refused: refusalSchema.safeParse(answer).data?.message ?? text.slice(0, 200) };
  const serious = Object.entries(report.data.vulnerabilities).filter(([, { severity }]) => SERIOUS.includes(severity));
  return { problems: serious.map(([name, { severity, range = '' }]) => `${name} ${range}: ${severity}`) };
}
