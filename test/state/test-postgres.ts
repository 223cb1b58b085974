import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import pg from 'pg';

export interface TestPostgres {
  /** Address of an empty schema of its own. */
  readonly address: () => string;
  readonly kind: 'server' | 'in-process';
  stop(): Promise<void>;
}

const local = 'postgres://postgres@127.0.0.1:5432/test';

async function answers(address: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: address, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function dropSchemas(address: string, schemas: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  for (const schema of schemas) await client.query(`drop schema if exists ${schema} cascade`);
  await client.end();
}

/** `TEST_DATABASE_URL` when set (then it must answer), else a local server, else a PostgreSQL inside this process. */
export async function startTestPostgres(): Promise<TestPostgres> {
  const given = process.env['TEST_DATABASE_URL'];
  const address = given ?? local;
  const inProcess = given === undefined && !(await answers(local)) ? await startInProcess() : undefined;
  const base = inProcess?.address ?? address;
  const schemas: string[] = [];
  return {
    kind: inProcess === undefined ? 'server' : 'in-process',
    address() {
      const schema = `test_${process.pid}_${Date.now().toString(36)}_${schemas.length}`;
      schemas.push(schema);
      const url = new URL(base);
      url.searchParams.set('schema', schema);
      return url.toString();
    },
    async stop() {
      if (inProcess !== undefined) return inProcess.stop();
      await dropSchemas(base, schemas);
    },
  };
}

async function startInProcess(): Promise<{ address: string; stop: () => Promise<void> }> {
  const database = await PGlite.create();
  const server = new PGLiteSocketServer({ db: database, port: 0, host: '127.0.0.1', maxConnections: 100 });
  await server.start();
  const [, port] = server.getServerConn().split(':');
  return {
    address: `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`,
    stop: async () => {
      await server.stop();
      await database.close();
    },
  };
}
