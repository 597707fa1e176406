/** The settings and input keys that decide the records and columns of a file. */
export const PLAN_PARTS = ['columns', 'filters', 'filtersOperator'] as const;
