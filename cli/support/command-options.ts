import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { CRM_EXPORT } from '../../core/commands.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { suggestion } from '../../core/suggestion.ts';
import { usageError } from './exit.ts';
import type { TargetOptions } from './target.ts';

/** One entity. @throws InvalidArgumentError that suggests the nearest name */
export function entityArgument(text: string): Entity {
  const entity = ENTITIES.find((name) => name === text);
  if (entity) return entity;
  throw new InvalidArgumentError(
    `There is no entity "${text}"${suggestion(text, ENTITIES)}. The entities are ${ENTITIES.join(', ')}.`,
  );
}

/** Adds an entity to those already given. @throws InvalidArgumentError */
export function entitiesArgument(text: string, before: Entity[] = []): Entity[] {
  return [...new Set([...before, entityArgument(text)])];
}

/** @throws CommandError (exit code 2) unless exactly one of the two is given */
export function entitiesOrAll(entities: Entity[], all: boolean | undefined): Entity[] {
  if (all && entities.length === 0) return [...ENTITIES];
  if (entities.length > 0 && !all) return entities;
  throw usageError(`Name one or more of ${ENTITIES.join(', ')}, or add --all.`);
}

/** A valid calendar date, YYYY-MM-DD. @throws InvalidArgumentError */
export function dateArgument(text: string): string {
  if (isDate(text)) return text;
  throw new InvalidArgumentError('Use a date that exists, such as 2026-11-20.');
}

function isDate(text: string): boolean {
  // Date.parse makes 2 March of 30 February, which then differs from the text.
  return /^\d{4}-\d\d-\d\d$/.test(text) && new Date(Date.parse(text) || 0).toISOString().startsWith(text);
}

const UNITS = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** `12h`, `7d`, `2w`, or a date, which means its start in UTC. @throws InvalidArgumentError for any other text */
export function sinceArgument(text: string, now: Date = new Date()): Date {
  const [, count, unit] = /^(\d{1,5})([hdw])$/.exec(text) ?? [];
  if (unit) return new Date(now.getTime() - Number(count) * UNITS[unit as keyof typeof UNITS]);
  if (!isDate(text)) {
    throw new InvalidArgumentError(
      'Use a length of time such as 12h, 7d or 2w, or a date that exists, such as 2026-11-20.',
    );
  }
  const time = new Date(`${text}T00:00:00Z`);
  if (time <= now) return time;
  throw new InvalidArgumentError(`That date is in the future: it is now ${now.toISOString().slice(0, 16)} UTC.`);
}

/** Parses the number of an option. @throws InvalidArgumentError that names the limits */
export function numberArgument(least: number, most = Number.POSITIVE_INFINITY, kind: 'whole' | 'decimal' = 'whole') {
  const pattern = kind === 'whole' ? /^\d+$/ : /^\d+(\.\d+)?$/;
  return (text: string): number => {
    const value = Number(text);
    if (pattern.test(text) && value >= least && value <= Math.min(most, Number.MAX_SAFE_INTEGER)) return value;
    const what = kind === 'whole' ? 'a whole number' : 'a number';
    const range = Number.isFinite(most) ? `from ${least} to ${most}` : `of at least ${least}`;
    throw new InvalidArgumentError(`Use ${what} ${range}.`);
  };
}

/** A command to paste, with the options of the deployment. @param more options of this command */
export function commandFor(
  command: string,
  place: TargetOptions,
  more: Record<string, string | undefined> = {},
): string {
  return `${CRM_EXPORT} ${command} ${placeOptions(place, more)}`;
}

/** The given options that select the deployment. @param more options of this command */
export function placeOptions(
  { deployment, profile, region, endpointUrl }: Partial<TargetOptions>,
  more: Record<string, string | undefined> = {},
): string {
  const all = { profile, region, 'endpoint-url': endpointUrl, ...more, deployment };
  return Object.entries(all)
    .flatMap(([name, value]) => (value ? [`--${name} ${quoted(value)}`] : []))
    .join(' ');
}

export function quoted(value: string): string {
  return /^[\w./:@=-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

const PACKAGE = resolve(import.meta.dirname, '../..');

/** Resolves a path from the user's directory: npm changes to the package, and keeps that directory in INIT_CWD. */
export function pathArgument(path: string): string {
  if (path === '') throw new InvalidArgumentError('The value is empty.');
  const here = process.cwd() === PACKAGE ? process.env.INIT_CWD : undefined;
  return resolve(here ?? process.cwd(), path);
}

export function outputArgument(path: string): string {
  return path === '-' ? path : pathArgument(path);
}

/** Why a file of this machine cannot be written. @param option names another file */
export function cannotWriteText(path: string, error: unknown, option: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  if (code === 'ENOENT' && !existsSync(dirname(path)))
    return `There is no directory ${dirname(path)}: create it first.`;
  return `${path} cannot be written (${code}): name a file elsewhere with ${option}.`;
}
