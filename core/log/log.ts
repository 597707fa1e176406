import { LogFormatter, Logger, LogItem } from '@aws-lambda-powertools/logger';
import { type LogFields, onlyListed, type RunFields, shortText } from './log-fields.ts';
import { embeddedMetrics, type Measures, namespaceOf } from './metrics.ts';

export interface Log {
  info(message: string, fields: LogFields): void;
  error(message: string, fields: LogFields): void;
}

export interface FunctionLog extends Log {
  warn(message: string, fields: LogFields): void;
  /** Returns a log whose lines name this run. */
  about(run: RunFields): FunctionLog;
  /**
   * Writes metrics as one log line, at any log level. Their dimensions are the entity from `about` and `outcome`. A
   * metric without one of its dimensions is left out.
   */
  measure(values: Measures, outcome?: string): void;
}

/** POWERTOOLS_LOG_LEVEL or LOG_LEVEL sets the level. @param deployment without it no metrics are written */
export function createLog(step: string, deployment: string | undefined = process.env.DEPLOYMENT): FunctionLog {
  const logger = new Logger({ logFormatter: new ListedFieldsFormatter(step) });
  return logAbout({}, { logger, step, deployment });
}

interface Output {
  logger: Logger;
  step: string;
  deployment: string | undefined;
}

function logAbout(run: RunFields, output: Output): FunctionLog {
  const { logger, step, deployment } = output;
  return {
    about: (other) => logAbout(other, output),
    info: (message, fields) => logger.info(message, { ...run, ...fields }),
    warn: (message, fields) => logger.warn(message, { ...run, ...fields }),
    error: (message, fields) => logger.error(message, { ...run, ...fields }),
    measure: (values, outcome) => {
      if (!deployment) return;
      const dimensions = { entity: run.entity, outcome };
      const dashboard = process.env.DASHBOARD === 'true';
      const context = { namespace: namespaceOf(deployment), at: Date.now(), dimensions, dashboard };
      const line = embeddedMetrics(values, context);
      // Not `console`: Lambda adds a time and an id to its lines.
      if (line) process.stdout.write(`${JSON.stringify({ ...onlyListed(run), step, ...line })}\n`);
    },
  };
}

/** Writes only the listed fields. */
class ListedFieldsFormatter extends LogFormatter {
  readonly #step: string;

  constructor(step: string) {
    super();
    this.#step = step;
  }

  override formatAttributes(...[base, added]: Parameters<LogFormatter['formatAttributes']>): LogItem {
    const { logLevel: level, message, timestamp, xRayTraceId } = base;
    const line = { level, message: shortText(message), timestamp: timestamp.toISOString(), step: this.#step };
    return new LogItem({ attributes: { ...line, xray_trace_id: xRayTraceId, ...onlyListed(added) } });
  }
}
