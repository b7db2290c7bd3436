"""The words by which a language is told: those that put its sentences together, and those by which it asks.

Languages without a phrase pack have lists, too: their texts must not be taken for a neighbour's. The lists
are of the commonest words. A name's words are left out, and so is a word that commands of a shell have.
"""

from __future__ import annotations

from collections.abc import Mapping

_CERTAINTY = 2.0
_CERTAIN = frozenset(
    """
    aren't can't could couldn't didn't doesn't don't haven't hello how i'd i'll i'm i've isn't it's let's need
    please should thank thanks that the there's these they this those want wasn't we'd we'll we're we've what
    what's when where which why with won't would wouldn't you you're your
    """.split()
)
"""English words that hardly any other language has, so that one says as much as two others."""

_LISTS: Mapping[str, str] = {
    "en": """
        a about after again all am an and any are as at be been before but by can check did do does every for
        from get give had has have he her his i if in into is it its me my no not now of on one or our out
        over she so some than them then there to under up us was we were who will
        above below best between cheapest days each feet hours inches miles near nearest people per plus used
        weeks within years
        add book buy calculate call change close compare compute convert create delete determine estimate
        explain find generate help let list look make move open order pay
        play put rename reserve search send set show start stop switch tell translate turn update write
        too well still keep here really take only right might good way just off back later more much sorry
        many got always other anything nothing leave never today tomorrow tonight yesterday morning
        afternoon evening night week next until since without own few else nobody none avoid refuse except
        appointment sure fine okay yes cancel return want flight weather doctor something someone anyone
        everyone everything that's here's someone's who's question done may see says time times new size
        rate old quick like order orders flights message messages name apply does quite soon while price
        prices terms monday mondays tuesday tuesdays wednesday thursday friday fridays saturday sunday
        january february march april june july august september october november december status
        """,
    "de": """
        aber alle als am an auch auf aus bei bis bitte dann das dass dein deine dem den der des die diese
        diesen dieser dieses dir doch du durch ein eine einem einen einer eines er es für geht gibt guten habe
        haben hallo hat heute ich ihm ihn ihr ihre im in ist ja kann kannst können könntest man mein meine
        meinem meinen meiner mich mir mit morgen möchte nach nicht noch nur oder schon sein seine sich sie
        sind so um und uns unser vom von vor wann war was welche wenn werden wer wie will wir wird wo
        wurde würde zu zum zur zwei über
        buche füge lade lies lösche löschen mach nenne nimm öffne öffnen plane prüfe ruf sage schalte schalten
        schick schicke schicken schließ schließe schreib schreibe sende speichere spiel spiele starte stell
        stelle storniere stornieren such suche suchen trage überprüfe übersetze überweise vergleiche
        verschiebe zeig zeige zeigen
        ab abend abends andere anderen außer brauche brauchen damit danke darf donnerstag donnerstags etwas
        falls fragen freitag freitags früh früher gegen gern gerne gesagt gleich gut hier immer januar
        februar märz april mai juni juli august september oktober november dezember jede jeden jeder jemand
        jetzt kein keine keinen keinem keiner keines knie kommen komme leider lieber länger machen mal mehr
        mittwoch mittwochs montag montags morgens mag muss müssen nachmittag nachmittags nehmen nein nichts
        nie niemals niemand nummer ohne passt rechnung rücken samstag samstags sehr seit soll sollte
        sonntag sonntags sonst sofort spätestens statt später tag tage termin termine uhr unter vielen
        vorher vormittag vormittags warte weil weiter wenig woche wochen wochenende zahn zeit zimmer zug
        zurück zwischen arzt arzttermin ärztin dienstag dienstags flug frage hotel kurz weder wäre
        """,
    "es": """
        a al algo algún alguna buenas buenos como con cuando cuál cuáles cuánto cuánta cuántos cuántas cómo
        de del desde dos donde dónde e el ella ellos en entre eres es esa ese eso esta estaba estar este
        esto estos está están estoy favor fue gracias ha hace hasta hay he hola hoy la las le les lo los
        mañana me mi mis muy más necesito ni no nos nuestra nuestro nuevo nueva o para pero por porque pueda
        puede puedes podrías podría que quería quiero quisiera qué quién se ser si sin sobre son soy su sus
        sí también te tengo tiene tu tus un una uno unos usted y ya yo abra abre abrir activa anota apunta
        actualiza añade apaga apagar borra borrar busca buscar cambia cambiar cancela cancelar cierra compra
        comprar comprueba crea crear dame descarga dime elija escriba envíe elimina eliminar enciende
        encender encuentra envía enviar envíame escribe guarda haz lee llama llamar lista manda muestra
        muéstrame mostrar mueve pide pon ponme poner renombra reproduce reserva reservar revisa sube traduce
        transfiere calcula aplica corrige resume vuelo vuelos pedido correos
        enero febrero junio julio septiembre octubre noviembre diciembre lunes miércoles jueves viernes noche
        noches prefiero abril agosto queremos buscamos tenemos necesitamos volar salir
        adiós ahora ambos antes apenas aquí así bien bueno cada casi cita citas claro contra cualquier
        cuenta después día días domingo durante entonces evitar excepto fecha hora horas lado luego martes
        mejor menos mes mientras mismo momento mucho mucha nada nadie ningún ninguna ninguno nunca número
        otra otro paso perdón persona poco posible primero pronto puedo rodilla salvo semana semanas sino
        siempre siguiente solo sábado sólo tampoco tarde todavía todo todos tiempo va sea ver vez voy
        """,
    "fr": """
        a ai alors as au aujourd'hui aussi aux avec avez avoir besoin bien bonjour c'est ce ces cet cette
        combien comme dans de demain depuis des deux donne du elle en entre est et être faire fait faut il
        ils j'ai j'aimerais je jusqu'à la le les leur lui ma mais me merci mes moi mon ne non nos notre nous
        on ont ou où par pas peux peut plus pour pourrais pourriez pourquoi pouvez qu'est-ce qu'il quand que
        quel quelle quelles quels qui quoi sa sans se ses si son sont suis sur ta te tes ton tout toutes tous
        tu un une veux voudrais votre vos vous y à
        achète affiche ajoute allume annule appelle calcule cherche commande crée déplace dis donne-moi écris
        efface envoie envoyer envoyez éteins exécute ferme joue lance lis mets montre montre-moi ouvre passe
        janvier juin juillet lundi mardi mercredi jeudi nuit nuits vendredi
        recherche renomme réserve réserver supprime supprimer télécharge traduis transfère trouve vérifie
        affichez ajoutez annulez cherchez créez donnez faites fermez lancez mettez montrez ouvrez réservez
        supprimez trouvez
        après avant beaucoup bon bonne bonsoir chaque chez d'abord déjà dimanche donc durant encore fois
        genou heure heures ici jamais février mars avril mai août septembre octobre novembre décembre jour
        jours juste l'après-midi l'heure là matin mieux midi moins mois même n'ai n'est numéro petit peu
        plaît plutôt prendre prends puis quelqu'un quelque quelques rdv refuse
        rendez-vous rien s'il salut samedi sauf semaine semaines serait seulement sinon soir souvent tard
        temps toujours trop tôt uniquement va vais venir vers voir ça été médecin jusqu'au dès aucun aucune
        personne
        """,
    "pt": """
        a agora algum alguma ao aos as até boa bom com como da das de depois do dois dos duas e ela ele em
        entre esse essa este esta está estou eu existe favor foi há hoje isso isto já lá mais mas me meu meus
        minha minhas muito na nas no nos nossa nosso não o obrigada obrigado onde os ou para pela pelo pode
        poderia por porque posso precisa preciso qual quais quando quanto quantos que quem quero queria se sem
        ser seu seus sim sobre sua suas são também te tem tenho ter tudo um uma umas uns vai vocês você à às é
        abra adicione adiciona altere apaga apagar apague arquivo busque cancele cancelar compre crie diga
        envie enviar exclua encontre faça fecha feche ficheiro leia liga ligar ligue liste marque mostra
        mostrar mostre mova procure reproduza renomeie reserve reservar salve toque traduza transfira ver
        verifique queremos abril agosto
        antes nada nunca hora horas dia dias tarde todo todos bem melhor poder semana semanas sempre só
        apenas exceto salvo outro outra tempo
        """,
    "it": """
        a ad agli ai al alla alle allo anche aperto buongiorno c'è che chi ci ciao come con cosa cui da dal
        dalla dai dalle degli dei del della delle dello di domani dopo dove due e è ed fa favore fino fra gli
        grazie ha hai ho i il in io l'ordine la le lei lo loro ma mi miei mio molto ne nei nel nella nelle
        noi non nostra nostro o oggi ogni per perché più poi posso potresti prima può puoi qual quale quali
        quando quanto quanti quella quello questa queste questi questo se sei senza si sono sta stasera su sua
        sul sulla suo ti tra tu tutti tutto un un'altra una uno vorrei
        accendi aggiungi annulla apri aumenta blocca cambia cancella cerca chiama chiudi compra controlla crea
        dammi dimmi elimina fammi imposta invia leggi manda metti mostra mostrami prenota rinomina riproduci
        agosto salva scarica scrivi spegni spegnere sposta suona traduci trasferisci trova verifica
        mai niente nulla solo soltanto ora ore giorno giorni settimana va bene meglio sempre tranne eccetto
        nessuno nessuna altro altra tempo mattina sera
        """,
    "nl": """
        aan al alle als bedankt ben bij dag dan dat de deze die dit door dus een en er geen goed graag had
        heb hebben heeft het hij hoe hoeveel ik in is ja je jij jou jouw kan kun kunnen kunt maar mag me meer
        met mij mijn moet morgen na naar niet nieuwe nog nu of om onder ons onze ook op over te toe tot twee
        u uit uw van vandaag vanaf veel voor waar waarom wanneer wat we wel welke wie wij wil word worden
        wordt zal ze zich zijn zo zonder zou
        annuleer bestand bewaar boek doe draai geef haal koop laat lees maak open reserveer schakel
        schrijf sluit speel stel stuur toon verander vertaal verplaats verwijder vind zet zoek
        nooit niets alleen week weken uur dagen tijd altijd liever behalve afspraak
        april september oktober november december
        """,
    "pl": """
        a aby bardzo czy dla do dwa dwie dwóch dzień dziękuję gdzie go i ile ja jak jaka jaki jakie jest
        jestem już kiedy kto który która może mam mi mnie moja moje mojego mój na nie o od oraz po pod proszę
        przez się są ta tak te tego tej ten to tym w we z za ze że żeby chcę chciałbym chciałabym jutro
        dodaj kup napisz odtwórz otwórz pokaż przenieś rezerwuj sprawdź usuń utwórz włącz wyłącz wyślij
        wyszukaj zamknij zarezerwuj zmień znajdź
        """,
    "sv": """
        alla att av bara behöver bort de den denna det din du eller en ett från för ha hade har hej hur här i
        idag imorgon inte jag kan kunna man med men mig min mina mitt mycket måste ni nu när och om på sig
        sin ska skulle som till två under upp ut vad var vara vi vid vilka vill är
        avbeställ avboka avsluta betala boka flytta hitta köp lägg läs mata ring sök skapa skicka skriv slå
        spela stäng ta tänd visa ändra öppna översätt
        aldrig inget vecka veckan dagar tid
        april september oktober november december
        """,
    "da": """
        af alle at dag de den der det dig din du efter eller en er et for fra fremover gerne ham har have hej
        hvad hvem hvilken hvor hvordan hvornår i ikke ind jeg jer kan kunne lige man med meg men mig min mine
        mit mitt morgen må ned ny når og også om op oss på skal skulle som takk tak til to under ut vi vil
        ville være været at
        bestil bestill find flyt flytt hent køb kjøp luk lukk opret opprett send slet slett sluk slå
        spil spill sett tænd vis åbn åpne ændr
        april september oktober november december august
        """,
    "tr": """
        ama bana bir biraz bu bugün çok da daha de değil gibi hangi için ile iki istiyorum kadar ki lütfen
        mı mi mu mü nasıl ne nerede o olan olarak sonra şu teşekkürler var ve veya ya yarın yok
        aç ara ayırt ayır bul çal çevir ekle et gönder göster iptal kapat oku oluştur sil söyle taşı yap yaz
        """,
    "id": """
        ada adalah akan apa atau bagaimana berapa besok bisa dan dapat dari dengan di dua hari ini itu juga
        kami ke kita kapan mana mohon pada saya sebuah seorang sudah tentang terima tidak tolong untuk yang
        batalkan bayar beli buat buka cari hapus hidupkan kirim kirimkan matikan nyalakan pesan
        pindahkan putar tampilkan terjemahkan tutup ubah
        """,
    "ro": """
        acest această am ar care ce cu da de din este eu fi în îmi la mai mea meu mi nu o pe pentru puteți
        sau să sunt și un unei unui vreau două mâine
        adaugă anulează arată caută creează deschide găsește închide rezervă șterge trimite
        """,
    "ca": """
        a al als amb aquest aquesta avui de del dels demà dues el els em en és està gràcies ha i la les li
        meu meva més mil molt no o on per però perquè pots puc que què quan s'ha si sense sobre són també
        tinc un una unes uns vull
        afegeix cancel·la encén envia esborra mou obre obrir tanca troba
        mai res només abans després dia dies setmana hora hores tot
        """,
    "cs": """
        a aby ale bych by co chci dnes do dobrý děkuji jak jaké jaký je jsem jsou k kde kdy který která mi mně
        moje můj na ne nebo není o od po pro prosím se si s ten to tu už v ve z za ze že zítra dva dvě
        najdi napiš otevři pošli přidej přesuň rezervuj smaž ukaž vypni vytvoř zapni zavři změň zobraz zruš
        termin prosim termín
        """,
    "hu": """
        a az be egy el és ez ezt fel hogy ha hol holnap is ki kérem két kettő köszönöm le lehet meg mennyi
        mikor milyen nem szeretnék szerint van vagy hány
        foglalj foglaljon keress küldd küldj mutasd nyisd töröld töröl vegyél zárd
        """,
    "fi": """
        ei että haluan huomenna ja jos kanssa kaikki kaksi kiitos kun kuinka minun minulle missä miten mikä
        minä mitä mutta myös nyt näytä on ole olen onko paljonko se sekä tai tämä voisitko voitko
        avaa etsi hae kirjoita lähetä luo osta peru poista siirrä soita sulje sytytä tallenna tilaa varaa
        """,
}
"""By language. Danish and Norwegian are one."""

LETTERS: Mapping[str, str] = {
    "de": "ß",
    "es": "ñ¿¡",
    "fr": "œ",
    "pt": "ãõ",
    "pl": "łąęśżźń",
    "da": "æø",
    "tr": "ğışİ",
    "ro": "ățșţ",
    "cs": "ěřůčď",
    "hu": "őű",
}
"""Letters that hardly any other of these languages has."""


def _weigh() -> dict[str, tuple[tuple[str, float], ...]]:
    """For each word what it says for each of its languages: less, the more it has."""
    speakers: dict[str, list[str]] = {}
    for language, words in _LISTS.items():
        for word in set(words.split()):
            speakers.setdefault(word, []).append(language)
    weights = {
        word: tuple((language, 1 / len(languages)) for language in languages)
        for word, languages in speakers.items()
    }
    return weights | dict.fromkeys(_CERTAIN, (("en", _CERTAINTY),))


WEIGHTS = _weigh()
