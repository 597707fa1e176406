import type { Loaders } from './program.ts';

/**
 * The file of each command. A command is loaded only when it is used: the help of all commands loads no file. The
 * loaders are not in `program.ts`, so that a test of one command imports only that command.
 */
export const LOADERS: Loaders = {
  init: async () => (await import('./access/init.ts')).addInit,
  status: async () => (await import('./night/night-status.ts')).addStatus,
  start: async () => (await import('./runs/start-run.ts')).addStart,
  follow: async () => (await import('./runs/follow.ts')).addFollow,
  list: async () => (await import('./runs/list-runs.ts')).addList,
  show: async () => (await import('./runs/show-run.ts')).addShow,
  logs: async () => (await import('./runs/logs.ts')).addLogs,
  download: async () => (await import('./data/download.ts')).addDownload,
  peek: async () => (await import('./data/peek.ts')).addPeek,
  diff: async () => (await import('./data/diff.ts')).addDiff,
  report: async () => (await import('./report/night-report.ts')).addReport,
  retry: async () => (await import('./runs/retry-run.ts')).addRetry,
  backfill: async () => (await import('./runs/backfill.ts')).addBackfill,
  release: async () => (await import('./runs/release-run.ts')).addRelease,
  table: async () => (await import('./tables/table.ts')).addTable,
  changes: async () => (await import('./changes/changes.ts')).addChanges,
  readers: async () => (await import('./readers/readers.ts')).addReaders,
  stop: async () => (await import('./runs/stop.ts')).addStop,
  plan: async () => (await import('./night/nightly-plan.ts')).addPlan,
  pause: async () => (await import('./night/pause.ts')).addPause,
  resume: async () => (await import('./night/pause.ts')).addResume,
  authorize: async () => (await import('./access/authorize.ts')).addAuthorize,
  probe: async () => (await import('./health/probe.ts')).addProbe,
  doctor: async () => (await import('./health/doctor.ts')).addDoctor,
  verify: async () => (await import('./health/verify.ts')).addVerify,
  update: async () => (await import('./updates/update.ts')).addUpdate,
  'update-status': async () => (await import('./updates/update-status.ts')).addUpdateStatus,
};
