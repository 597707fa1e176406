import { CRM_EXPORT } from '../core/commands.ts';
/** The headings of the help, in its order. */
export const GROUPS = {
  night: 'The night:',
  data: 'Data:',
  health: 'Health:',
  setUp: 'Set-up:',
};
export type Group = keyof typeof GROUPS;

/** Below the help of all commands. */
export const EXAMPLES = `
Examples:
  # did last night work?
  ${CRM_EXPORT} status --deployment prod
  # why did this run fail, and what helps?
  ${CRM_EXPORT} show leads --deployment prod
  # the newest file of leads, proved by size and checksum
  ${CRM_EXPORT} download leads --deployment prod

More of a command: ${CRM_EXPORT} show --help`;

/** The rows of a table group by group. */
export function byGroup<Name extends string, T extends { group: Group }>(rows: Record<Name, T>): [Name, T][] {
  const order = Object.keys(GROUPS);
  const entries = Object.entries(rows) as [Name, T][];
  return entries.toSorted(([, one], [, other]) => order.indexOf(one.group) - order.indexOf(other.group));
}
