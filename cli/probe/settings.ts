import type { Deployment } from '../../core/config/deployment.ts';
import type { Conversation } from './conversation/exchange.ts';
import { mainOf } from './sightings/sighting.ts';

/** A setting that fits what was seen. */
export interface Setting {
  path: string[];
  /** @param current what stands there; `undefined`: nothing */
  value: (current: unknown) => unknown;
}

/** The settings by which a run takes what was seen, where they differ from the configuration. */
export function settingsFor(conversation: Conversation, deployment: Deployment): Setting[] {
  return [
    ...hosts(conversation, deployment),
    ...scopes(conversation, deployment),
    ...columns(conversation, deployment),
    ...waits(conversation, deployment),
  ];
}

/** Only a host that a person has confirmed, and that gave the file. */
function hosts(conversation: Conversation, { crm }: Deployment): Setting[] {
  const { link, file } = mainOf(conversation) ?? {};
  if (!link || link.listed || link.refused !== null || !file || file.trouble !== null) return [];
  return [{ path: ['crm', 'fileHosts'], value: withMore(crm.fileHosts, [link.host]) }];
}

/** A file may have other words than the deployment, and keeps them. */
function withMore(deployed: readonly string[], more: readonly string[]): Setting['value'] {
  return (current) => [...new Set([...(Array.isArray(current) ? current : deployed), ...more])];
}

/** The scope that a refusal names (RFC 6750, 3). */
function scopes({ exchanges }: Conversation, { crm }: Deployment): Setting[] {
  const challenges = exchanges.filter(({ status }) => status === 403).map(({ headers }) => headers['www-authenticate']);
  const named = challenges.flatMap((challenge) => /scope="([^"]+)"/.exec(challenge ?? '')?.[1]?.split(' ') ?? []);
  const lacking = [...new Set(named)].filter((name) => !crm.scopes.includes(name));
  return lacking.length === 0 ? [] : [{ path: ['crm', 'scopes'], value: withMore(crm.scopes, lacking) }];
}

function columns(conversation: Conversation, { entities }: Deployment): Setting[] {
  const main = mainOf(conversation);
  if (!main?.file) return [];
  const { header, headerText, column } = main.file;
  const path = ['entities', main.entity, 'columns'];
  const chosen = chosenOf(entities[main.entity].columns);
  if (header === 'other' && headerText !== null) {
    return [{ path, value: (current) => withLabel(chosenOf(current), headerText, column) }];
  }
  // Beside these nobody could see that a column is not there.
  if (header !== 'none' || 'except' in chosen || 'labels' in chosen) return [];
  return [{ path, value: (current) => ({ ...chosenOf(current), header: 'none' }) }];
}

/** Columns as an object, which has room for more than their names. */
function chosenOf(columns: unknown): Record<string, unknown> {
  if (Array.isArray(columns)) return { only: columns };
  return typeof columns === 'object' && columns !== null ? { ...columns } : {};
}

function withLabel(chosen: Record<string, unknown>, text: string, column: string) {
  const labels = typeof chosen.labels === 'object' ? chosen.labels : {};
  return { ...chosen, labels: { ...labels, [text]: column } };
}

const SHORTEST_WAIT_SECONDS = 5;

/** A first look when an export of this CRM is usually there: only where the configured wait is far from it. */
function waits(conversation: Conversation, { polling }: Deployment): Setting[] {
  const processed = mainOf(conversation)?.statuses.find(({ word }) => word === 'PROCESSED');
  if (!processed || processed.seconds === 0) return [];
  const { firstWaitSeconds: first, largestWaitSeconds: largest } = polling;
  const seen = Math.min(Math.ceil(processed.seconds), largest);
  const sooner = Math.max(seen, SHORTEST_WAIT_SECONDS);
  const fitting = seen > first * 2 ? seen : sooner * 2 < first ? sooner : first;
  return fitting === first ? [] : [{ path: ['polling', 'firstWaitSeconds'], value: () => fitting }];
}

/** The settings as a part of a configuration. @param current the configuration that they are for */
export function toPaste(settings: Setting[], current: unknown): Record<string, unknown> {
  const part: Record<string, unknown> = {};
  for (const { path, value } of settings) put(part, path, value(valueAt(current, path)));
  return part;
}

export function valueAt(object: unknown, path: string[]): unknown {
  return path.reduce((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), object);
}

/** Puts a value into an object, and makes the objects that it stands in. */
export function put(object: Record<string, unknown>, [key = '', ...rest]: string[], value: unknown): void {
  if (rest.length === 0) {
    object[key] = value;
    return;
  }
  const inner = object[key];
  const next = typeof inner === 'object' && inner !== null ? { ...inner } : {};
  object[key] = next;
  put(next as Record<string, unknown>, rest, value);
}
