import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Traffic } from './virtual-time.ts';

/** A request with its complete body. */
export interface Request extends Pick<IncomingMessage, 'method' | 'url' | 'headers'> {
  body: Buffer;
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** A request that has arrived, and the possible actions on it. */
export interface Exchange {
  request: Request;
  /** Passes the request on to the real server. */
  done: () => Promise<Answer>;
  answer: (answer: Answer) => void;
  /** Breaks the connection after half of the answer. */
  cut: (answer: Answer) => void;
  /** Waits. */
  wait: (ms: number) => Promise<void>;
}

/** Handles a request. A request that it neither answers nor cuts stays unanswered. */
type Meddler = (exchange: Exchange) => Promise<void>;

/** One server on loopback in front of all servers that the steps call. It only adds the meddler's faults. */
export async function startFront(behind: (request: Request) => string | Promise<Answer>) {
  const traffic: Traffic = { passed: 0, busy: 0 };
  const agent = new Agent({ keepAlive: true });
  const state: { meddler: Meddler; frozen: boolean } = { meddler: passOn, frozen: false };
  const server = createServer({ keepAliveTimeout: 0 }, (message, response) => {
    void take(message, response).catch(() => message.socket.destroy());
  });
  const take = async (message: IncomingMessage, response: ServerResponse) => {
    const { method, url, headers } = message;
    // A sender may pause in the middle of a body until a timer fires.
    message.on('data', () => {
      traffic.passed += 1;
    });
    const body = await buffer(message);
    traffic.passed += 1;
    if (state.frozen) return;
    const request: Request = { method, url, headers, body };
    const underWay = async <T>(work: () => Promise<T>): Promise<T> => {
      traffic.busy += 1;
      return work().finally(() => {
        traffic.busy -= 1;
        traffic.passed += 1;
      });
    };
    const begin = (answer: Answer, length: number) => {
      traffic.passed += 1;
      const headers = { ...withoutFraming(answer.headers), date: new Date().toUTCString(), 'content-length': length };
      response.writeHead(answer.status, headers);
    };
    await state.meddler({
      request,
      done: () => underWay(async () => answerBehind(await behind(request), request, agent)),
      answer: (answer) => {
        if (state.frozen) return;
        begin(answer, answer.body.length || lengthOf(answer.headers));
        response.end(answer.body);
      },
      cut: (answer) => {
        begin(answer, Math.max(2, answer.body.length || lengthOf(answer.headers)));
        response.flushHeaders();
        response.write(answer.body.subarray(0, answer.body.length / 2), () => message.socket.destroy());
      },
      wait: (ms) => new Promise((over) => setTimeout(over, ms)),
    });
  };
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    traffic,
    /** Leaves every open request unanswered. */
    stop: () => {
      state.frozen = true;
      agent.destroy();
      server.close();
    },
  });
}

const passOn: Meddler = async ({ done, answer }) => answer(await done());

/** The length of an answer without a body. A HEAD answer declares the length of another body. */
function lengthOf(headers: IncomingMessage['headers']): number {
  return Number(headers['content-length'] ?? 0);
}

function withoutFraming({ 'transfer-encoding': _, connection: __, 'keep-alive': ___, ...headers }: Answer['headers']) {
  return headers;
}

/** @param to the answer, or the server that gives it */
function answerBehind(to: string | Answer, request: Request, agent: Agent): Answer | Promise<Answer> {
  return typeof to === 'string' ? forward(to, request, agent) : to;
}

function forward(to: string, { method, url, headers, body }: Request, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = send(
      `${to}${url}`,
      { method, headers: { ...headers, connection: 'keep-alive' }, agent },
      (response) => {
        buffer(response).then(
          (bytes) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes }),
          reject,
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
