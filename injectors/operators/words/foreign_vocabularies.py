"""Words of the other six languages that one may stand for another in a field of a tool's result."""

from __future__ import annotations


def read_lists(text: str) -> tuple[tuple[str, ...], ...]:
    """Lists of words, a line each, with a comma between two words."""
    return tuple(tuple(word.strip() for word in line.split(",")) for line in text.strip().splitlines())


FOREIGN_LIFECYCLES = read_lists(
    """
    ausstehend, bestätigt, storniert
    offen, in Bearbeitung, erledigt
    unbezahlt, bezahlt, erstattet
    bestellt, versendet, geliefert, zurückgegeben
    verfügbar, reserviert, ausgeliehen
    geschlossen, geöffnet
    inaktiv, aktiv, gesperrt
    geplant, laufend, beendet
    frei, belegt
    pendiente, confirmado, cancelado
    pendiente, confirmada, cancelada
    abierto, en curso, cerrado
    abierta, en curso, cerrada
    pedido, enviado, entregado, devuelto
    enviada, entregada, devuelta
    impagado, pagado, reembolsado
    impagada, pagada, reembolsada
    reservado, prestado
    inactivo, activo, suspendido
    inactiva, activa, suspendida
    en attente, confirmé, annulé
    en attente, confirmée, annulée
    ouvert, en cours, fermé
    ouverte, en cours, clôturée
    commandé, expédié, livré, retourné
    commandée, expédiée, livrée, retournée
    impayé, payé, remboursé
    impayée, payée, remboursée
    réservé, emprunté
    inactif, actif, suspendu
    待付款, 已付款, 已退款
    待发货, 已发货, 已签收, 已退货
    待确认, 已确认, 已取消
    未开始, 进行中, 已完成
    可借, 已预约, 已借出
    关闭, 开启
    空闲, 占用
    未払い, 支払い済み, 返金済み
    未発送, 発送済み, 配達済み, 返品済み
    仮予約, 確認済み, キャンセル済み
    未着手, 対応中, 完了
    貸出可, 予約済み, 貸出中
    空室, 満室
    無効, 有効
    قيد الانتظار, مؤكد, ملغى
    قيد المعالجة, تم الشحن, تم التسليم
    غير مدفوع, مدفوع, مسترد
    مغلق, مفتوح
    متاح, محجوز, معار
    معلق, نشط
    """
)
"""States in their order."""

FOREIGN_VOCABULARIES = (
    *FOREIGN_LIFECYCLES,
    *read_lists(
        """
        niedrig, mittel, hoch, kritisch
        klein, groß
        schwarz, weiß, rot, grün, blau, gelb, grau
        ja, nein
        sonnig, bewölkt, regnerisch, windig, neblig
        Benzin, Elektro, Erdgas
        Einzelzimmer, Doppelzimmer, Familienzimmer
        Barzahlung, Kreditkarte, Überweisung, Lastschrift
        monatlich, vierteljährlich, jährlich
        baja, media, alta, crítica
        bajo, medio, alto, crítico
        pequeño, mediano, grande
        negro, blanco, rojo, verde, azul, amarillo
        soleado, nublado, lluvioso, ventoso
        gasolina, diésel, eléctrico, híbrido
        doble, triple
        efectivo, tarjeta, transferencia
        mensual, trimestral, anual
        faible, moyen, élevé
        petit, grand
        noir, blanc, rouge, vert, bleu, jaune
        ensoleillé, nuageux, pluvieux, venteux
        essence, électrique, hybride
        espèces, carte, virement
        mensuel, trimestriel, annuel
        低, 中, 高
        小, 大
        黑色, 白色, 红色, 绿色, 蓝色, 黄色, 灰色
        晴, 多云, 阴, 小雨, 大雨
        单人间, 双人间, 套房
        现金, 信用卡, 支付宝, 微信支付
        是, 否
        黒, 白, 赤, 緑, 青, 黄
        晴れ, 曇り, 雨, 雪
        和室, 洋室
        現金, クレジットカード, 銀行振込
        はい, いいえ
        منخفض, متوسط, مرتفع
        صغير, كبير
        أسود, أبيض, أحمر, أخضر, أزرق, أصفر
        مشمس, غائم, ممطر
        نقدا, بطاقة, تحويل
        نعم, لا
        """
    ),
)
"""Each list holds words of one kind, in one language and one gender; no word is in lists of two languages."""
