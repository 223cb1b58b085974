const secretKey =
  /token|secret|password|passwd|webhook|authorization|cookie|signature|credential|api_?key|encryption|access_?key/i;
/** What people wrote and what was answered: never in a log. */
const contentKey = /^(text|say|reply|fallback|blocks|payload|body|content|prompt)$/i;

/** Shapes of secrets inside longer strings: platform tokens, credentials and session keys in addresses, bearer headers. */
const secretShapes: readonly (readonly [RegExp, string])[] = [
  [/\bx(?:ox[a-z]|app)-[\w-]{6,}/gi, '[token]'],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 [token]'],
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]*@/gi, '$1[credentials]@'],
  [/([?&][\w.-]*(?:token|session|secret|signature|sign|key|ticket)[\w.-]*=)[^&\s"']+/gi, '$1[secret]'],
  [/\b(LTAI|STS\.)[A-Za-z0-9]{12,}/g, '[access key]'],
  [/\bhttps?:\/\/hooks\.\S+/gi, '[webhook]'],
];

const maximumLength = 2_000;
const maximumDepth = 6;

/** A string fit for a log: secrets masked, length bounded. */
export function redactText(text: string): string {
  const short = text.length > maximumLength ? `${text.slice(0, maximumLength)}… (${text.length} characters)` : text;
  return secretShapes.reduce((masked, [shape, instead]) => masked.replace(shape, instead), short);
}

/** A copy fit for a log: values under telling keys are dropped, errors become code, message and stack. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maximumDepth) return '[deep]';
  if (value instanceof Error) return redactError(value, depth);
  if (Array.isArray(value)) return value.slice(0, 50).map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (secretKey.test(key) || contentKey.test(key)) return [key, '[redacted]'];
      return [key, redact(item, depth + 1)];
    }),
  );
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const code = 'code' in error ? { code: error.code } : {};
  const cause = error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) };
  return {
    name: error.name,
    ...code,
    message: redactText(error.message),
    ...(error.stack === undefined ? {} : { stack: redactText(error.stack) }),
    ...cause,
  };
}
