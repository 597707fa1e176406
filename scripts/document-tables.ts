import * as z from 'zod';
import { deploymentSchema } from '../core/config/deployment.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { timingOf } from '../core/config/timing.ts';
import { ERRORS, type ErrorName } from '../core/errors.ts';
import { CHECKS } from '../core/gate/checks.ts';
import { ALARMS, type AlarmId } from '../lib/monitoring/monitoring.ts';

/** Tables of the documents that are generated from the code. */

type Schema = z.core.JSONSchema.BaseSchema;

/** Every field of `config/NAME.json`. */
export function configurationTable(): string {
  const whole = z.toJSONSchema(deploymentSchema, { io: 'input' });
  return markdownTable(['Field', 'Default; values', 'Meaning'], fieldsOf(whole).map(fieldRow));
}

/** Every entity with the default start time of its run, for a sentence. */
export function entityStarts(): string {
  const settings = deploymentSchema.parse({
    crm: { baseUrl: 'https://crm.example.com/api/v1', authUrl: 'https://crm.example.com' },
  });
  return `${ENTITIES.map((entity) => `${code(entity)} ${timingOf(settings, entity).starts?.join()}`).join(', ')}.`;
}

/** The names of all entities, for a sentence. */
export function entityNames(): string {
  return `${ENTITIES.map(code).join(', ')}.`;
}

/** The checks of the gate, for readers of files. */
export function checkTable(): string {
  const rows = CHECKS.map(({ id, stops, setting, final, promised }) => [
    ...[code(id), final ? `${stops}; such a file cannot be released` : stops, setting, promised ? 'yes' : 'no'],
  ]);
  return markdownTable(['Check', 'Stops a file', 'Setting, and its default', 'Unknown stops'], rows);
}

/**
 * The runbook, in which the part "Means" of each alarm starts with the text of its mail, and the part "Fix" of each
 * error with the advice in its cause.
 * @throws Error for an entry without that part
 */
export function withAdvice(runbook: string): string {
  return runbook
    .split(/^(?=### )/m)
    .map((entry) => {
      const name = /^### (\S+)/.exec(entry)?.[1] ?? '';
      const means = Object.hasOwn(ALARMS, name) ? ALARMS[name as AlarmId] : undefined;
      const fix = Object.hasOwn(ERRORS, name) ? ERRORS[name as ErrorName].advice : undefined;
      return withPart(withPart(entry, 'Means', means), 'Fix', fix);
    })
    .join('');
}

function withPart(entry: string, part: 'Means' | 'Fix', sentence: string | undefined): string {
  if (sentence === undefined) return entry;
  const line = new RegExp(`^\\*\\*${part}\\.\\*\\* .*$`, 'm');
  if (!line.test(entry)) throw new Error(`docs/runbook.md: ${entry.split('\n')[0]} has no part "${part}"`);
  return entry.replace(line, () => `**${part}.** ${sentence}`);
}

interface Field {
  path: string;
  schema: Schema;
  required: boolean;
  /** The optional object that contains the field. */
  within: string | undefined;
}

/** The fields of an object and its nested objects; `entities.ENTITY` stands for any entity. */
function fieldsOf(schema: Schema, parent = '', within?: string): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    if (typeof value !== 'object' || key === '$schema') return [];
    const path = parent ? `${parent}.${key}` : key;
    if (path === 'entities' && typeof value.additionalProperties === 'object') {
      return fieldsOf(value.additionalProperties, 'entities.ENTITY');
    }
    const required = new Set(schema.required).has(key);
    const inner = path.endsWith('ENTITY.polling') ? [] : fieldsOf(value, path, required ? within : path);
    return inner.length > 0 ? inner : [{ path, schema: value, required, within }];
  });
}

function fieldRow({ path, schema, required, within }: Field): string[] {
  const standard = schema.default === undefined ? 'none' : code(JSON.stringify(schema.default));
  const first = required ? `required${within ? ` with ${code(within)}` : ''}` : standard;
  return [code(path), [first, ...valuesOf(schema)].join('; '), schema.description ?? ''];
}

/** The allowed values, if the description of the field does not list them. */
function valuesOf({ enum: values, minimum, maximum, items }: Schema): string[] {
  if (values) return [values.map((value) => code(JSON.stringify(value))).join(', ')];
  if (typeof items === 'object' && !Array.isArray(items)) return valuesOf(items).map((each) => `list of ${each}`);
  return minimum === undefined || maximum === undefined ? [] : [`${minimum} to ${maximum}`];
}

export function code(text: string): string {
  return `\`${text}\``;
}

function markdownTable(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
