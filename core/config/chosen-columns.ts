/** The columns of an entity. */
export interface ChosenColumns {
  /** `undefined`: all. */
  only: string[] | undefined;
  except: string[];
  required: string[];
  labels: Record<string, string | null>;
  header: 'names' | 'none';
  sheet: string | undefined;
  otherSheets: string[];
}
type Written = 'all' | string[] | { [K in keyof ChosenColumns]?: ChosenColumns[K] | undefined };

/** The setting as an object with defaults, in whichever form it is written. */
export function chosenColumnsOf(columns: Written): ChosenColumns {
  const object = typeof columns === 'object' && !Array.isArray(columns) ? columns : {};
  const { except = [], required = [], labels = {}, header = 'names', sheet, otherSheets = [] } = object;
  const only = Array.isArray(columns) ? columns : object.only;
  return { only, except, required, labels, header, sheet, otherSheets };
}
