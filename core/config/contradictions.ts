import { isAllowedHost } from '../../transfer/source/guard.ts';
import { exceptedIn } from '../columns/left-out.ts';
import { folded, meansOrContains } from '../folded.ts';
import { exceptedOf, isHeaderless, labelsOf, onlyOf, requiredOf, sheetsOf } from './chosen-columns.ts';
import { ENTITIES, type Entity } from './entities.ts';
import {
  type EntitySettings,
  LARGEST_DEADLINE_IN_WAITS,
  LEAST_CREATE_PAUSE_SECONDS,
  type Polling,
} from './entity-settings.ts';
import { fileHostsOf } from './file-settings.ts';
import { dependsOnDate } from './relative-date.ts';
import { requestKeys } from './request-keys.ts';
import type { Settings } from './settings.ts';

/** Settings that contradict each other: one row for each rule, with the setting that the message names. */

interface Row<T> {
  at: readonly PropertyKey[];
  /** The names in the setting that break the rule, or whether the whole setting breaks it. */
  breaks: (settings: T) => readonly string[] | boolean;
  /** The message. If `breaks` returns names, it follows `names "X", `, unless it is a function. */
  says: string | ((settings: T, name: string) => string);
}

interface Problem {
  path: PropertyKey[];
  message: string;
}

export function contradictions(settings: Settings): Problem[] {
  const { local, polling } = settings;
  const waits = (own: Partial<Polling>) => ({ local, ...polling, ...own });
  return [
    ...broken(DEPLOYMENT, settings, []),
    ...broken(POLLING, waits({}), ['polling']),
    ...readerProblems(settings),
    ...ENTITIES.flatMap((entity) => {
      const own = settings.entities[entity];
      const place = ['entities', entity];
      // A mistake in the polling of the deployment is reported once, with that setting.
      const ofPolling = own.polling ? broken(POLLING, waits(own.polling), [...place, 'polling']) : [];
      return [...ofPolling, ...extraProblems(own, settings, place), ...broken(ENTITY, own, place)];
    }),
  ];
}

function broken<T>(rows: readonly Row<T>[], settings: T, place: readonly PropertyKey[]): Problem[] {
  return rows.flatMap(({ at, breaks, says }) => {
    const found = breaks(settings);
    const path = [...place, ...at];
    const textOf = (name: string) => (typeof says === 'string' ? `names "${name}", ${says}` : says(settings, name));
    if (typeof found !== 'boolean') return found.map((name) => ({ path, message: textOf(name) }));
    return found ? [{ path, message: typeof says === 'string' ? says : says(settings, '') }] : [];
  });
}

const HTTPS = 'must start with https: (http is for local deployments)';
const isHttp = (local: boolean, address: string) => !local && !address.startsWith('https:');
const TAKEN = ['columns', 'sorts', 'filters'];
const ONE_NAME = 'is the name of another field of the request';

const DEPLOYMENT: Row<Settings>[] = [
  { at: ['crm', 'baseUrl'], breaks: ({ local, crm }) => isHttp(local, crm.baseUrl), says: HTTPS },
  { at: ['crm', 'authUrl'], breaks: ({ local, crm }) => isHttp(local, crm.authUrl), says: HTTPS },
  { at: ['crm', 'operatorField'], breaks: ({ crm }) => TAKEN.includes(crm.operatorField), says: ONE_NAME },
  {
    at: ['crm', 'emailField'],
    breaks: ({ crm }) => [...TAKEN, crm.operatorField].includes(crm.emailField),
    says: ONE_NAME,
  },
  {
    at: ['crm', 'fileHosts'],
    // A mistake in the address itself is reported with the address.
    breaks: ({ local, crm }) =>
      !local && URL.parse(crm.baseUrl)?.protocol === 'https:' && fileHostsOf(crm).length === 0,
    says: 'must name the hosts that files come from, such as ["files.example.com"]: the host of baseUrl is no full name',
  },
  {
    at: ['crm', 'privateHosts'],
    breaks: (settings) => hasUnreachable(settings),
    says: 'needs `network`: outside of your subnets no function reaches a private address',
  },
  {
    at: ['crm', 'privateHosts'],
    breaks: (settings) => (hasUnreachable(settings) ? [] : uncalledHosts(settings)),
    says: (_, host) => `names ${host}, which is neither a host of the CRM nor one of \`crm.fileHosts\``,
  },
];

function hasUnreachable({ local, network, crm: { privateHosts = [] } }: Settings): boolean {
  return privateHosts.length > 0 && !network && !local;
}

function uncalledHosts({ crm: { baseUrl, authUrl, fileHosts, privateHosts = [] } }: Settings): string[] {
  const called = [baseUrl, authUrl].map((address) => URL.parse(address)?.hostname);
  return privateHosts.filter(
    (host) => !called.includes(host) && !isAllowedHost(host, { hosts: fileHosts, local: false }),
  );
}

const POLLING: Row<Polling & { local: boolean }>[] = [
  {
    at: ['firstWaitSeconds'],
    breaks: ({ firstWaitSeconds, largestWaitSeconds }) => firstWaitSeconds > largestWaitSeconds,
    says: ({ largestWaitSeconds }) => `must not be above largestWaitSeconds (${largestWaitSeconds})`,
  },
  {
    at: ['deadlineSeconds'],
    breaks: ({ deadlineSeconds, firstWaitSeconds }) => deadlineSeconds < firstWaitSeconds,
    says: ({ firstWaitSeconds }) => `must not be below firstWaitSeconds (${firstWaitSeconds})`,
  },
  {
    at: ['deadlineSeconds'],
    breaks: (polling) => polling.deadlineSeconds > LARGEST_DEADLINE_IN_WAITS * polling.largestWaitSeconds,
    says: ({ largestWaitSeconds }) =>
      `must be at most ${LARGEST_DEADLINE_IN_WAITS} times largestWaitSeconds, here ${LARGEST_DEADLINE_IN_WAITS * largestWaitSeconds}`,
  },
  {
    at: ['createAgainSeconds'],
    breaks: ({ local, createAgainSeconds }) => !local && createAgainSeconds < LEAST_CREATE_PAUSE_SECONDS,
    says: `must be at least ${LEAST_CREATE_PAUSE_SECONDS} (less is for local deployments)`,
  },
];

/** Readers of tables whose entity has no `tables` setting. */
function readerProblems({ readers, entities }: Settings): Problem[] {
  const hasTable = (entity: Entity) => entities[entity].tables !== undefined;
  return readers.flatMap(({ entities: named, of }, index) => {
    if (!of.includes('tables')) return [];
    const path = ['readers', index, 'entities'];
    if (named === 'all') return ENTITIES.some(hasTable) ? [] : [{ path, message: 'names tables, which no entity has' }];
    const without = named.filter((entity) => !hasTable(entity));
    return without.map((entity) => ({ path, message: `names ${entity}, which has no \`tables\`` }));
  });
}

/** Keys in `extra` that have their own setting. */
function extraProblems({ extra }: EntitySettings, { crm }: Settings, place: string[]): Problem[] {
  const reserved = [...Object.keys(requestKeys), crm.operatorField, crm.emailField];
  const message = 'has a setting of its own: give it there';
  const keys = Object.keys(extra).filter((key) => reserved.includes(key));
  return keys.map((key) => ({ path: [...place, 'extra', key], message }));
}

type EntityRow = Row<EntitySettings>;

/** Whether a list has a name, in any spelling: the settings for columns do not depend on the spelling. */
const isIn = (names: readonly string[], name: string) => names.map(folded).includes(folded(name));
const labelTexts = (plan: EntitySettings) => Object.entries(labelsOf(plan)).flat();
const namelessOf = (plan: EntitySettings) =>
  Object.entries(labelsOf(plan)).flatMap(([text, name]) => (name === null ? [text] : []));
const hasLabels = ({ columns }: EntitySettings) =>
  typeof columns === 'object' && !Array.isArray(columns) && columns.labels !== undefined;

const COLUMNS: EntityRow[] = [
  {
    at: ['columns', 'required'],
    breaks: (plan) => requiredOf(plan).filter((name) => exceptedOf(plan).includes(name)),
    says: 'which `except` leaves out',
  },
  {
    at: ['columns', 'only'],
    breaks: (plan) => onlyOf(plan)?.filter((name) => isIn(exceptedOf(plan), name)) ?? [],
    says: (plan, name) => {
      const entry = exceptedOf(plan).find((each) => isIn([each], name));
      return `names "${name}", which \`except\` leaves out as "${entry}"`;
    },
  },
  {
    at: ['columns', 'required'],
    breaks: (plan) => requiredOf(plan).filter((name) => onlyOf(plan)?.includes(name) === false),
    says: 'which `only` does not request',
  },
  {
    at: ['columns', 'otherSheets'],
    breaks: (plan) => sheetsOf(plan).otherSheets.filter((name) => name === sheetsOf(plan).sheet),
    says: 'which `sheet` reads',
  },
  {
    at: ['columns', 'labels'],
    breaks: (plan) => namelessOf(plan).filter((text) => exceptedOf(plan).some((entry) => meansOrContains(text, entry))),
    says: (_, text) => `maps "${text}" to null, which \`except\` leaves out`,
  },
  {
    at: ['columns', 'labels'],
    breaks: (plan) => labelTexts(plan).some((text) => text !== null && folded(text) === ''),
    says: 'has a text without letters',
  },
  {
    at: ['columns', 'header'],
    breaks: (plan) => isHeaderless(plan) && exceptedOf(plan).length > 0,
    says: 'must not be "none" beside `except`: nobody could see that a column is not there',
  },
  {
    at: ['columns', 'header'],
    breaks: (plan) => isHeaderless(plan) && hasLabels(plan),
    says: 'must not be "none" beside `labels`: there is no header that they could name',
  },
];

const LEFT_OUT = 'which `columns.except` leaves out';
const LEFT_OUT_OF_ENTITY = 'which `columns.except` of the entity leaves out';
const UNKNOWN_COLUMNS = 'which columns such a file has is not known';

/** Settings that need the content of a file, and so contradict `opaque` kinds, whose content is not read. */
const OPAQUE: [promises: (plan: EntitySettings) => boolean, what: string, why: string][] = [
  [(plan) => exceptedOf(plan).length > 0, '`columns.except`', UNKNOWN_COLUMNS],
  [(plan) => requiredOf(plan).length > 0, '`columns.required`', UNKNOWN_COLUMNS],
  [({ drift }) => drift.added === 'stop', '`drift.added: "stop"`', UNKNOWN_COLUMNS],
  [({ drift }) => drift.removed === 'stop', '`drift.removed: "stop"`', UNKNOWN_COLUMNS],
  [({ drift }) => drift.retyped === 'stop', '`drift.retyped: "stop"`', UNKNOWN_COLUMNS],
  [({ guards }) => guards.minRows !== undefined, '`guards.minRows`', 'the rows of such a file are not counted'],
  [({ tables }) => tables !== undefined, '`tables`', 'no table can be made of such a file'],
];

type TableKey = 'columns' | 'except' | 'hash';
type Refused = (name: string, plan: EntitySettings) => boolean;

const isUnrequested: Refused = (name, plan) => onlyOf(plan)?.includes(name) === false;
const isNameless: Refused = (name, plan) => namelessOf(plan).some((text) => meansOrContains(text, name));
const isLeftOut: Refused = (name, plan) => exceptedOf(plan).includes(name);
const HEADERLESS = 'which files without a header (`columns.header`) do not tell';
const NAMELESS = 'which `columns.labels` of the entity maps to null';
const UNREQUESTED = 'which `columns` of the entity does not request';

const TABLE_NAMES: [key: TableKey, refused: Refused, why: string][] = [
  ['hash', (name, { tables }) => tables?.except?.includes(name) ?? false, 'which `except` leaves out of the table'],
  [
    'hash',
    (name, { tables }) => Object.hasOwn(tables?.columns ?? {}, name),
    'which `columns` gives a type: a hash is text',
  ],
  ['columns', (name, { tables }) => tables?.except?.includes(name) ?? false, 'which `except` leaves out of the table'],
  ['columns', isLeftOut, LEFT_OUT_OF_ENTITY],
  ['hash', isLeftOut, LEFT_OUT_OF_ENTITY],
  ['hash', isNameless, NAMELESS],
  ['except', isNameless, NAMELESS],
  ['except', (_, plan) => isHeaderless(plan), HEADERLESS],
  ['hash', (_, plan) => isHeaderless(plan), HEADERLESS],
  ['columns', isUnrequested, UNREQUESTED],
  ['except', isUnrequested, UNREQUESTED],
  ['hash', isUnrequested, UNREQUESTED],
];

function tableNames({ tables }: EntitySettings, key: TableKey): readonly string[] {
  if (!tables) return [];
  return key === 'columns' ? Object.keys(tables.columns) : (tables[key] ?? []);
}

const CHANGE_NAMES: [refused: Refused, why: string][] = [
  [(name, { tables }) => isIn(tables?.except ?? [], name), 'which `tables.except` leaves out of the table'],
  [(name, plan) => isIn(exceptedOf(plan), name), LEFT_OUT_OF_ENTITY],
  [isUnrequested, UNREQUESTED],
];

const CHANGES: EntityRow[] = [
  {
    at: ['changes'],
    breaks: ({ changes, tables }) => changes !== undefined && tables === undefined,
    says: 'needs `tables`: a feed is made of two of them',
  },
  {
    at: ['changes'],
    breaks: ({ changes, filters }) => changes !== undefined && dependsOnDate(filters),
    says: 'must not be beside a "$date" in `filters`: of another day there are other rows, and the others would be told as deleted',
  },
  ...(['key', 'ignore'] as const).flatMap((key) =>
    CHANGE_NAMES.map(
      ([refused, says]): EntityRow => ({
        at: ['changes', key],
        breaks: (plan) => plan.changes?.[key]?.filter((name) => refused(name, plan)) ?? [],
        says,
      }),
    ),
  ),
  {
    at: ['changes', 'ignore'],
    breaks: ({ changes }) => changes?.key.filter((name) => isIn(changes.ignore ?? [], name)) ?? [],
    says: 'which is a part of `key`',
  },
];

const ENTITY: EntityRow[] = [
  ...COLUMNS,
  {
    at: ['at'],
    breaks: ({ at, schedule }) => at !== undefined && schedule !== undefined,
    says: 'excludes `schedule`: give one of them',
  },
  { at: ['filters'], breaks: (plan) => exceptedIn(plan.filters, exceptedOf(plan)), says: LEFT_OUT },
  { at: ['sorts'], breaks: (plan) => exceptedIn(plan.sorts, exceptedOf(plan)), says: LEFT_OUT },
  ...OPAQUE.map(
    ([promises, what, why]): EntityRow => ({
      at: ['opaque'],
      breaks: (plan) => plan.opaque.length > 0 && promises(plan),
      says: `must be empty beside ${what}: ${why}`,
    }),
  ),
  ...TABLE_NAMES.map(
    ([key, refused, says]): EntityRow => ({
      at: ['tables', key],
      breaks: (plan) => tableNames(plan, key).filter((name) => refused(name, plan)),
      says,
    }),
  ),
  ...CHANGES,
];
