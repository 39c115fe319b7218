/** The memory of a shop's assistant: each text is a passage of its own. */
export const memory: Readonly<Record<string, string>> = {
  returns:
    '# Returns\n\nCustomers may return an item within 30 days of delivery. The item must be unused. Refunds are paid to the original card within five working days.',
  shipping:
    '# Shipping\n\nStandard delivery takes three to five days. Express delivery arrives the next working day and costs 9 euros. We do not ship to post boxes.',
  warranty:
    '# Warranty\n\nEvery bicycle has a warranty of two years on the frame and of one year on brakes, chain and gears. Damage by accidents is not covered.',
  payment:
    '# Payment\n\nWe accept Visa, Mastercard, PayPal and bank transfer. Invoices are due after 14 days. We never ask for a password by email.',
  hours:
    '# Opening hours\n\nThe shop in Harbour Street is open from Monday to Saturday, nine to six. It is closed on Sundays and public holidays.',
  sizes:
    '# Frame sizes\n\nRiders under 165 cm need a frame of size S, up to 178 cm size M, up to 188 cm size L, and taller riders size XL.',
  battery:
    '# Batteries\n\nThe battery of the Volt e-bike lasts 80 km. It charges in four hours. Store it indoors in winter and never below freezing.',
  helmet:
    '# Helmets\n\nReplace a helmet after each crash, and after five years in any case. The foam inside becomes brittle.',
  tyres:
    '# Tyres\n\nPump tyres of road bikes to seven bar and those of mountain bikes to two bar. Check the pressure every two weeks.',
  repair:
    '# Repairs\n\nBring your bike to the workshop before noon and it is repaired on the same day. A basic service costs 60 euros and includes cleaning.',
  rental:
    '# Rental\n\nCity bikes cost 15 euros a day, e-bikes 35 euros. A deposit of 200 euros is held on the credit card.',
  kids: '# Bikes for children\n\nBalance bikes are for children from two years. Pedal bikes with 16 inch wheels fit from the age of four.',
  lock: '# Locks\n\nWe recommend a folding lock of security level 10 or higher. Insurance companies demand a lock of at least level 12.',
  jobs: '# Careers\n\nWe look for a mechanic and for a sales assistant. Send your application with a CV to the manager, Petra Novak.',
  privacy:
    '# Privacy\n\nWe keep invoices for ten years, as the law demands. Accounts are deleted on request within a month.',
  gift: '# Gift vouchers\n\nVouchers are valid for three years and can be used in the shop and online. They cannot be exchanged for cash.',
  tour: '# Tours\n\nA guided tour along the river starts each Saturday at ten. It takes three hours and includes lunch.',
  anna: 'User: My name is Anna and I ride a Volt to work every day.\n\nAssistant: Nice to meet you, Anna! Enjoy the ride.',
  vegan:
    'User: I am vegan and allergic to nuts, please remember that.\n\nAssistant: I will keep in mind that you are vegan and allergic to nuts.',
  order:
    'User: Where is my order 48213?\n\nAssistant: Order 48213 left our warehouse on Tuesday and arrives on Thursday.',
  greeting: 'User: hi\n\nAssistant: Hello! How can I help you today?',
  thanks: 'User: thanks, that was great\n\nAssistant: You are welcome! Is there anything else?',
  daughter:
    'User: I need a bike for my daughter Mia, she is six and 118 cm tall.\n\nAssistant: A bike with 20 inch wheels would fit Mia.',
  doitra:
    '# Đổi trả\n\nKhách hàng được đổi trả hàng trong vòng 30 ngày kể từ khi nhận hàng. Sản phẩm phải còn mới.',
};

/** Messages of users, and the passages that help to answer each. */
export const messages: readonly [text: string, ...passages: string[]][] = [
  ['How can I return an item?', 'returns'],
  ['I want my money back', 'returns'],
  ['refunds?', 'returns'],
  ['Hello, could you please let me know when I get my refund if I send the jacket back?', 'returns'],
  ['How long does delivery take?', 'shipping'],
  ['can you ship it by tomorrow', 'shipping'],
  ['My frame broke after eighteen months, is that covered?', 'warranty'],
  ['what does the warranty cover', 'warranty'],
  ['Can I pay with PayPal?', 'payment'],
  ['I got an email that asks for my password', 'payment'],
  ['Are you open on Sunday?', 'hours'],
  ['When does the shop close?', 'hours'],
  ['I am 172 cm tall, which frame size do I need?', 'sizes'],
  ['How far does the battery of the Volt last?', 'battery'],
  ['Can I leave the battery outside in winter?', 'battery'],
  ['I fell with my helmet yesterday, is it still good?', 'helmet'],
  ['tyre pressure for a mountain bike', 'tyres'],
  ['How much is a basic service?', 'repair'],
  ['my chain is broken, can you repair it today?', 'repair'],
  ['What does it cost to rent an e-bike for a day?', 'rental'],
  ['Is there a deposit?', 'rental'],
  ['a bike for a child of three years', 'kids'],
  ['Which lock does my insurance want?', 'lock'],
  ['Do you have a job for a mechanic?', 'jobs'],
  ['please delete my account', 'privacy'],
  ['how long are vouchers valid', 'gift'],
  ['when does the guided tour start', 'tour'],
  ['What is my name?', 'anna'],
  ['Which restaurant for lunch suits me? You know that I am vegan.', 'vegan'],
  ['Where is order 48213 now?', 'order'],
  ['What size do you recommend for Mia?', 'daughter'],
  ['doi tra hang trong bao lau', 'doitra'],
  ['Tôi muốn đổi trả sản phẩm', 'doitra'],
  ['hi'],
  ['Hello!'],
  ['hey there, how are you?'],
  ['thanks'],
  ['Thank you very much!'],
  ['ok'],
  ['yes please'],
  ['no'],
  ['good morning'],
  ['bye'],
  ['great, thanks a lot'],
  ['xin chào'],
  ['cảm ơn bạn'],
  ['👍'],
  ['Write a poem about the sea'],
  ['What is the capital of France?'],
  ['Translate "good night" into Spanish'],
  ['Solve x^2 - 5x + 6 = 0'],
  ['Write a Python function that reverses a list'],
  ['Do you know a joke?'],
  ['Who won the world cup in 1998?'],
  ['Explain quantum entanglement in one paragraph'],
  ['Summarise the following text: The committee met to discuss the budget of the museum.'],
  ['What is the weather like in Berlin?'],
  ['How do I boil an egg?'],
  ['Which planets have rings?'],
  ['Make that shorter'],
  ['Can you say that again in simpler words?'],
  ['continue'],
  ['What time is it in Tokyo?'],
  ['Recommend a film from the nineties'],
  ['Fix the grammar of this sentence: He go to school.'],
];
