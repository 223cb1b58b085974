import { describe, expect, test } from 'vitest';
import { canonicalQuery, signedHeaders } from '../../../catalog/refresh/signature.ts';

const credentials = { id: 'YourAccessKeyId', secret: 'YourAccessKeySecret' };

describe('signature V3', () => {
  test("equals the vendor's worked example of RunInstances", () => {
    const headers = signedHeaders({
      host: 'ecs.cn-shanghai.aliyuncs.com',
      action: 'RunInstances',
      version: '2014-05-26',
      query: { RegionId: 'cn-shanghai', ImageId: 'win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd' },
      now: Date.UTC(2023, 9, 26, 10, 22, 32, 512),
      nonce: '3156853299f313e23d1673dc12e1703d',
      credentials,
    });
    expect(headers['x-acs-date']).toBe('2023-10-26T10:22:32Z');
    expect(headers['authorization']).toBe(
      'ACS3-HMAC-SHA256 Credential=YourAccessKeyId,' +
        'SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,' +
        'Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0',
    );
  });

  test('escapes as the vendor does: a second fixed vector with reserved and non-ASCII characters', () => {
    const query = { DomainName: 'example.com', RR: '_acme-challenge.a b*~', Type: 'TXT', Value: 'k/+=é' };
    expect(canonicalQuery(query)).toBe(
      'DomainName=example.com&RR=_acme-challenge.a%20b%2A~&Type=TXT&Value=k%2F%2B%3D%C3%A9',
    );
    expect(canonicalQuery({ b: '', a: 'x y', 'SystemDisk.Category': "cloud_essd!'()" })).toBe(
      'SystemDisk.Category=cloud_essd%21%27%28%29&a=x%20y&b=',
    );
  });

  test('a security token is sent and signed', () => {
    const base = {
      host: 'ecs.cn-hangzhou.aliyuncs.com',
      action: 'DescribePrice',
      version: '2014-05-26',
      query: {},
      now: 0,
      nonce: 'n',
    };
    const headers = signedHeaders({ ...base, credentials: { ...credentials, securityToken: 'token' } });
    expect(headers['x-acs-security-token']).toBe('token');
    expect(headers['authorization']).toContain('x-acs-security-token;x-acs-signature-nonce');
    expect(headers['authorization']).not.toBe(signedHeaders({ ...base, credentials })['authorization']);
  });

  test('the secret decides the signature and appears nowhere', () => {
    const base = { host: 'h', action: 'A', version: 'v', query: {}, now: 0, nonce: 'n' };
    const one = signedHeaders({ ...base, credentials: { id: 'i', secret: 's3cret-value' } });
    const other = signedHeaders({ ...base, credentials: { id: 'i', secret: 'another' } });
    expect(one['authorization']).not.toBe(other['authorization']);
    expect(JSON.stringify(one)).not.toContain('s3cret-value');
  });
});
