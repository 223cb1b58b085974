import { createHash, createHmac } from 'node:crypto';

export interface Credentials {
  readonly id: string;
  readonly secret: string;
  readonly securityToken?: string | undefined;
}

export interface RequestToSign {
  readonly host: string;
  readonly action: string;
  readonly version: string;
  readonly query: Readonly<Record<string, string>>;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Used once. */
  readonly nonce: string;
  readonly credentials: Credentials;
}

const ALGORITHM = 'ACS3-HMAC-SHA256';

/** RFC 3986: everything but letters, digits and `-_.~` is escaped. */
function escapeText(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function canonicalQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, value]) => `${escapeText(name)}=${escapeText(value)}`)
    .join('&');
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Headers of an RPC call without a body, signed by method V3
 * (help.aliyun.com/zh/sdk/product-overview/v3-request-structure-and-signature, read 2026-11-30).
 */
export function signedHeaders(request: RequestToSign): Readonly<Record<string, string>> {
  const { credentials } = request;
  const bodyHash = sha256('');
  const headers: Record<string, string> = {
    host: request.host,
    'x-acs-action': request.action,
    'x-acs-content-sha256': bodyHash,
    'x-acs-date': `${new Date(request.now).toISOString().slice(0, 19)}Z`,
    'x-acs-signature-nonce': request.nonce,
    'x-acs-version': request.version,
    ...(credentials.securityToken === undefined ? {} : { 'x-acs-security-token': credentials.securityToken }),
  };
  const names = Object.keys(headers).sort();
  const canonicalHeaders = names.map((name) => `${name}:${(headers[name] ?? '').trim()}\n`).join('');
  const signed = names.join(';');
  const canonical = ['POST', '/', canonicalQuery(request.query), canonicalHeaders, signed, bodyHash].join('\n');
  const signature = createHmac('sha256', credentials.secret)
    .update(`${ALGORITHM}\n${sha256(canonical)}`)
    .digest('hex');
  return {
    ...headers,
    authorization: `${ALGORITHM} Credential=${credentials.id},SignedHeaders=${signed},Signature=${signature}`,
  };
}
