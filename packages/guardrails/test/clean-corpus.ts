/** Texts without personal data and secrets, in which programs without proofs find some. */
export const cleanCorpus: Readonly<Record<string, string>> = {
  code: `
import { defineConfig } from 'vite';
@Component({ selector: 'app-root', host: 'example.com' })
export class App { readonly token = inject(HTTP_TOKEN); constructor(private api: ApiClient) {} }
const password = process.env.DB_PASSWORD ?? getSecret('db/password');
const apiKey = config.get<string>('OPENAI_API_KEY'); // OPENAI_API_KEY=sk-...
const max_tokens = 4096, token_count = 128000, secretName = 'checkout-service-v2-prod';
std::vector<int> v(10); auto t = std::chrono::steady_clock::now(); int x = a+1234567890;
git clone git@github.com:acme/widgets.git && git remote add up ssh://git@gitlab.com/acme/widgets.git
npm install react@18.3.1 lodash@4.17.21 @types/node@24.10.1 && docker pull redis@sha256:9341b6548cc35b64a6de0085555264336e2f570e17ecff20190bf62222f2bd64
uses: actions/checkout@v4.2.2 # pinned
<img src="logo@2x.png" srcset="logo@3x.png 3x"><div class="sk-container-id-1 sk-top-container sk-estimator-doc-link">
DATABASE_URL=postgres://postgres:postgres@localhost:5432/app
REDIS_URL=redis://localhost:6379/0 AMQP=amqp://guest:guest@rabbitmq:5672/
url = "postgresql://$DB_USER:$DB_PASS@db.internal/app"; mongodb+srv://<user>:<password>@cluster0.mongodb.net
const key = 'sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; const aws = 'AKIAIOSFODNN7EXAMPLE';
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuV9ZJx0cX7Y2bq3sJxvN
-----END PUBLIC KEY-----
The file starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.
const header = 'eyJhbGciOiJIUzI1NiJ9'; // eyJ... is the base64 of {"
sha512-Hy6IImaWALzJOgCIss4gIFi4G0M9lqk95pFKCUVxQPZw+biZ1Pv6f28JpYgahpJB+BufA0HYsIU/aP/WIx3KRg==
| --- | --- |
|-----|-----|
`,
  numbers: `
pi 3.14159265358979323846, e 2.71828182845904523536, 4111111111111111.25, 0.4111111111111111
1,234,567.89 and 1 234 567,89; 12 345 678; 2^64 = 18446744073709551616; 6.02214076e23; -273.15
ids 550e8400-e29b-41d4-a716-446655440000, 0x4111111111111111, 507f1f77bcf86cd799439011, 01ARZ3NDEKTSV4RRFFQ69G5FAV
ms 1732968000000, µs 1732968000000000, ns 1732968000000000000, snowflake 1318672935781371904
lat 10.762622, lon 106.660172; 51.5074° N, 0.1278° W; 4:3, 16:9, 1920x1080; 23:59:59.999
ISBN 978-3-16-148410-0, EAN 4006381333931, IMEI 356938035643809, DOI 10.1000/182
2024-01-15, 15.01.2024, 01/15/2024, 2024-01-15T10:00:00+07:00, 20240115103000
`,
  orders: `
Order #4539578763621486 shipped; order id: 4916338506082832; orderNumber=4024007134564842
"order_id":"4556737586899855","invoice_no":"5425233430109903"
Amazon 123-4567890-1234567, tracking number 6011000990139424, ticket 378282246310005
GET /orders/4111111111111111/items and /v1/payments/5555555555554444
Đơn hàng 4716461583322103 đã giao; mã vận đơn: 4532015112830366; mã đơn: 079203001234
UPS 1Z999AA10123456784, account 000123456789, PO 4500012345
`,
  versions: `
Chrome/120.0.6099.109 Safari/537.36 Edg/131.0.2903.70; Mozilla/5.0 (X11; Linux x86_64)
version 10.0.19045.3803, v1.2.3.4, openssl 3.0.1.2, nginx==1.25.3.1, package 1.2.3.4-beta, 4.18.0.553-rhel
AssemblyVersion("1.0.0.0") FileVersion="2.11.3.4" build 20.4.1.2 firmware: 8.2.13.4
see section 10.2.3.4 and § 5.1.12.3, chapter 1.2.3.4 and clause 14.3.2.1
^18.3.1 ~4.17.21 >=3.11,<4 sha-1a2b3c4 1.2.3.4+build.5 libfoo.so.1.2.3.4
`,
  logs: `
2024-11-30 18:06:14,123 INFO  [main] c.a.App - Started in 3.214 seconds (pid 48213) on 10.12.0.7:8080
127.0.0.1 - - [30/Nov/2024:18:06:14 +0000] "GET /health HTTP/1.1" 200 15 "-" "curl/8.5.0"
192.168.1.20 172.16.254.1 169.254.169.254 fe80::1ff:fe23:4567:890a ::1 2001:db8::8a2e:370:7334 192.0.2.1 203.0.113.9
at Object.<anonymous> (/srv/app/node_modules/@acme/core@2.1.0/dist/index.js:1021:17)
trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7 token_type=Bearer token=<redacted> password=********
error: no user "root@localhost" at mailto:user@example.com, admin@test, noreply@mail.example.org, a@b.invalid
Authorization: Bearer *** x-api-key: [REDACTED] cookie: session=deleted
kernel: [ 4111.111111] usb 1-1.2: new high-speed USB device number 4, 00:1A:2B:3C:4D:5E
`,
  english: `
Please meet at 5 on 12/04. About 1,200 people came, 10-15 of them early; tickets were 20 to 25 dollars (2024 prices).
The DE89 road, GB20 group and AT61 series are names. Call me when you can. Mr. X said "@everyone, look at this".
My phone has 128 GB, and my old one 64. Room 101-202, seats 12-14, pages 1020-1034, $4,111.11, 555 1234 at most.
The password is written on paper, the secret is out, and the key to success is work. Follow @acme and @john on it.
Her token of thanks: a 1990s camera. The ratio 2024:2023 was 1.05. Risk-sk-taking, task-force, desk-side.
`,
  vietnamese: `
Hôm nay là ngày 30/11/2024, nhiệt độ 28-32 độ. Giá 1.250.000 đồng, giảm 15% còn 1.062.500 đ, mua 2 tặng 1.
Mật khẩu phải có ít nhất 8 ký tự. Số tài khoản: 001122334455 tại ngân hàng. Biển số 51F-123.45, căn hộ 12.05.
Quyết định số 1234/2024/QĐ-BTC ngày 15.01.2024; Nghị định 13/2023/NĐ-CP. Điều 5.1.2.3 và mục 10.2.3.4 của quy chế.
Giá cổ phiếu 4532 7153 3790 1242 là dãy số mẫu; mã giao dịch 2024113018061400. Ví dụ: ten@example.com.
`,
};
