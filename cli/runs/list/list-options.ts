import { InvalidArgumentError } from 'commander';
import * as z from 'zod/mini';
import type { TargetOptions } from '../../support/target.ts';

export interface ListOptions extends TargetOptions {
  since?: Date;
  failed?: boolean;
  running?: boolean;
  limit?: number;
  json?: boolean;
}

const UNITS = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** `12h`, `7d`, `2w`, or a date, which means its beginning in UTC. @throws InvalidArgumentError for anything else */
export function sinceArgument(text: string, now: Date = new Date()): Date {
  const [, count, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? [];
  if (unit) return new Date(now.getTime() - Number(count) * UNITS[unit as keyof typeof UNITS]);
  if (!z.iso.date().safeParse(text).success) {
    throw new InvalidArgumentError(
      'A length of time such as 12h, 7d or 2w, or a date that exists, such as 2026-11-20.',
    );
  }
  const time = new Date(`${text}T00:00:00Z`);
  if (time <= now) return time;
  throw new InvalidArgumentError(`That date is still to come: now it is ${now.toISOString().slice(0, 16)} UTC.`);
}
